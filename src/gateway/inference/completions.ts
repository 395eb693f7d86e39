type Body = Readonly<Record<string, unknown>>;

/** What the older route writes at most when nobody says: it is told to suppliers, some of which would go on and on. */
export const USUAL_COMPLETION_TOKENS = 16;

/** Every prompt of a list is answered so many times; of `best_of` answers the caller sees the best and pays all. */
export function completionsAsked({ prompt, n, best_of: bestOf }: Body): number {
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1;
  return prompts * Math.max(countOf(n), countOf(bestOf));
}

const countOf = (value: unknown): number => (typeof value === 'number' ? value : 1);

export function completionBytes({ choices }: Body): number {
  if (!Array.isArray(choices)) return 0;
  return choices.reduce((sum: number, choice: unknown) => {
    const text: unknown = typeof choice === 'object' && choice !== null ? Reflect.get(choice, 'text') : '';
    return sum + (typeof text === 'string' ? Buffer.byteLength(text) : 0);
  }, 0);
}
