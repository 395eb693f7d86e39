export function findNearest(name: string, candidates: Iterable<string>): string | undefined {
  let best: { name: string; similarity: number } | undefined;
  for (const candidate of candidates) {
    const similarity = similarityOf(name.toLowerCase(), candidate.toLowerCase());
    if (similarity > (best?.similarity ?? MIN_SIMILARITY)) best = { name: candidate, similarity };
  }
  return best?.name;
}

export function didYouMean(name: string, candidates: Iterable<string>): string {
  const nearest = findNearest(name, candidates);
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`;
}

const MIN_SIMILARITY = 0.4;

/** Share of adjacent letter pairs that two names have in common, from 0 to 1. */
function similarityOf(left: string, right: string): number {
  const pairs = pairsOf(left);
  const common = pairsOf(right).filter((pair) => {
    const index = pairs.indexOf(pair);
    if (index >= 0) pairs.splice(index, 1);
    return index >= 0;
  });
  return (2 * common.length) / (left.length + right.length + 2);
}

function pairsOf(name: string): string[] {
  const text = ` ${name} `;
  return Array.from({ length: text.length - 1 }, (_, index) => text.slice(index, index + 2));
}
