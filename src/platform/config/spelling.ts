import { declaredSettings } from './setting.decorator';

/** Names that live in ordinary environments and merely look like ours. */
const ordinaryNames = new Set(['HOME', 'HOSTTYPE', 'HOSTNAME', 'POST', 'SORT', 'PROMPT', 'DATABASE', 'PATH']);

/** Settings of earlier versions, with the reason why they are ignored. */
const removedSettings: ReadonlyMap<string, string> = new Map([
  ['EGRESS_HTTP2', 'suppliers are reached over HTTP/1.1'],
]);

/** These variables nearly bear the name of a setting: most likely they are misspelt. */
export function spellingWarnings(env: NodeJS.ProcessEnv): string[] {
  const known = new Set(declaredSettings.flatMap(({ name }) => [name, `${name}_FILE`]));
  return Object.keys(env)
    .filter((name) => !known.has(name) && !ordinaryNames.has(name) && name.length >= 4)
    .flatMap((name) => {
      const reason = removedSettings.get(name);
      if (reason !== undefined) return [`${name} was removed: ${reason}.`];
      const meant = [...known].find((candidate) => isNear(name, candidate));
      return meant === undefined ? [] : [`${name} is not a setting; did you mean ${meant}?`];
    });
}

/** A short name tolerates less: two letters away from PORT lies half the alphabet. */
function isNear(name: string, candidate: string): boolean {
  const tolerance = candidate.length < 8 ? 1 : 2;
  return Math.abs(name.length - candidate.length) <= tolerance && isWithin(tolerance, name, candidate);
}

/** Levenshtein's edit distance is compared with `most` row by row, until one exceeds it. */
function isWithin(most: number, left: string, right: string): boolean {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    let nearest = i;
    for (let j = 1; j <= right.length; j++) {
      const replaced = row[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1);
      const distance = Math.min(replaced, row[j]! + 1, next[j - 1]! + 1);
      next.push(distance);
      if (distance < nearest) nearest = distance;
    }
    if (nearest > most) return false;
    row = next;
  }
  return row[right.length]! <= most;
}
