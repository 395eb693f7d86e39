type Version = readonly [major: number, minor: number, patch: number];

const versionIn = (text: string): Version => {
  const [major = 0, minor = 0, patch = 0] = text.split('.').map(Number);
  return [major, minor, patch];
};

const RANGE = /^\^(\d{1,4}(?:\.\d{1,4}){0,2})$/;

/** Whether `^1`, `^1.2` or `^1.2.3` takes in a version; null where the text is no such range. */
export function takesIn(range: string, version: string): boolean | null {
  const [, least] = RANGE.exec(range) ?? [];
  if (least === undefined) return null;
  const [major, minor, patch] = versionIn(version);
  const [leastMajor, leastMinor, leastPatch] = versionIn(least);
  if (major !== leastMajor) return false;
  return minor > leastMinor || (minor === leastMinor && patch >= leastPatch);
}
