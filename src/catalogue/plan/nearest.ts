/** The known name that a mistaken one most likely stands for; undefined when none comes close. */
export function nearestOf(name: string, known: Iterable<string>): string | undefined {
  let best: { name: string; likeness: number } | undefined;
  for (const candidate of known) {
    const likeness = likenessOf(name.toLowerCase(), candidate.toLowerCase());
    if (likeness > (best?.likeness ?? CLOSE_ENOUGH)) best = { name: candidate, likeness };
  }
  return best?.name;
}

export function didYouMean(name: string, known: Iterable<string>): string {
  const nearest = nearestOf(name, known);
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`;
}

const CLOSE_ENOUGH = 0.4;

/** The share of neighbouring letters that two names have in common, from 0 to 1. */
function likenessOf(left: string, right: string): number {
  const pairs = pairsOf(left);
  const common = pairsOf(right).filter((pair) => {
    const place = pairs.indexOf(pair);
    if (place >= 0) pairs.splice(place, 1);
    return place >= 0;
  });
  return (2 * common.length) / (left.length + right.length + 2);
}

/** The ends count as neighbours of nothing, so that short names have something to compare. */
function pairsOf(name: string): string[] {
  const text = ` ${name} `;
  return Array.from({ length: text.length - 1 }, (_, place) => text.slice(place, place + 2));
}
