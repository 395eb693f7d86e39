type SemanticVersion = readonly [major: number, minor: number, patch: number];

const parseVersion = (text: string): SemanticVersion => {
  const [major = 0, minor = 0, patch = 0] = text.split('.').map(Number);
  return [major, minor, patch];
};

const RANGE = /^\^(\d{1,4}(?:\.\d{1,4}){0,2})$/;

/** Checks whether a version satisfies `^1`, `^1.2` or `^1.2.3`; null if the text is no such range. */
export function satisfiesRange(range: string, version: string): boolean | null {
  const [, minimum] = RANGE.exec(range) ?? [];
  if (minimum === undefined) return null;
  const [major, minor, patch] = parseVersion(version);
  const [minMajor, minMinor, minPatch] = parseVersion(minimum);
  if (major !== minMajor) return false;
  return minor > minMinor || (minor === minMinor && patch >= minPatch);
}
