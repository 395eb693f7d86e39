import { declaredSettings } from './setting.decorator';

/** Common environment variables that merely resemble settings. */
const ordinaryNames = new Set(['HOME', 'HOSTTYPE', 'HOSTNAME', 'POST', 'SORT', 'PROMPT', 'DATABASE', 'PATH']);

/** Settings of earlier versions, with the reason why they are ignored. */
const removedSettings: ReadonlyMap<string, string> = new Map([
  ['EGRESS_HTTP2', 'suppliers are reached over HTTP/1.1'],
]);

export function spellingWarnings(env: NodeJS.ProcessEnv): string[] {
  const knownNames = new Set(declaredSettings.flatMap(({ name }) => [name, `${name}_FILE`]));
  return Object.keys(env)
    .filter((name) => !knownNames.has(name) && !ordinaryNames.has(name) && name.length >= 4)
    .flatMap((name) => {
      const reason = removedSettings.get(name);
      if (reason !== undefined) return [`${name} was removed: ${reason}.`];
      const suggestion = [...knownNames].find((candidate) => isSimilar(name, candidate));
      return suggestion === undefined ? [] : [`${name} is not a setting; did you mean ${suggestion}?`];
    });
}

/** A short name tolerates less: many words are two edits away from PORT. */
function isSimilar(name: string, candidate: string): boolean {
  const tolerance = candidate.length < 8 ? 1 : 2;
  return Math.abs(name.length - candidate.length) <= tolerance && isWithin(tolerance, name, candidate);
}

/** Compares Levenshtein's edit distance with `max` row by row, until one exceeds it. */
function isWithin(max: number, left: string, right: string): boolean {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    let rowMinimum = i;
    for (let j = 1; j <= right.length; j++) {
      const replaced = row[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1);
      const distance = Math.min(replaced, row[j]! + 1, next[j - 1]! + 1);
      next.push(distance);
      if (distance < rowMinimum) rowMinimum = distance;
    }
    if (rowMinimum > max) return false;
    row = next;
  }
  return row[right.length]! <= max;
}
