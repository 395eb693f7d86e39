type Body = Readonly<Record<string, unknown>>;

/** Sorts results best first, cuts them to the requested number and adds the model's name: not every supplier does. */
export function ranked(answer: Body, { model, top_n: asked }: Body): Body {
  const { results } = answer;
  if (!Array.isArray(results)) return answer;
  const most = typeof asked === 'number' ? asked : results.length;
  const isRanked =
    results.length <= most && results.every((result, at) => at === 0 || isAfter(results[at - 1], result));
  if (isRanked && answer.model !== undefined) return answer;
  const sorted = isRanked
    ? results
    : results.toSorted((one, other) => scoreOf(other) - scoreOf(one)).slice(0, most);
  return { model, ...answer, results: sorted };
}

const isAfter = (one: unknown, other: unknown): boolean => scoreOf(one) >= scoreOf(other);

function scoreOf(result: unknown): number {
  const score: unknown =
    typeof result === 'object' && result !== null ? Reflect.get(result, 'relevance_score') : undefined;
  return typeof score === 'number' ? score : -Number.MAX_VALUE;
}

const DOCUMENTS_PER_UNIT = 100;
/** Suppliers split documents at about 500 tokens, question included, and count every piece. */
const LEAST_BYTES_PER_PIECE = 500;

/** The most search units a rerank can be charged as. */
export const searchUnitsBound = ({ documents }: Body, bytes: number): number =>
  Math.ceil(
    ((Array.isArray(documents) ? documents.length : 0) + bytes / LEAST_BYTES_PER_PIECE) / DOCUMENTS_PER_UNIT,
  );

/** Suppliers who sell by the token count the question once for every document. */
export const rerankTextBound = ({ query, documents }: Body, bytes: number): number =>
  bytes + Buffer.byteLength(String(query)) * (Array.isArray(documents) ? documents.length : 0);
