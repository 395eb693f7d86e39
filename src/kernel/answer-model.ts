/** Model name in responses: this catalogue's (`caller`) or the supplier's (`supplier`). */
export const ANSWER_MODELS = ['caller', 'supplier'] as const;
export type AnswerModel = (typeof ANSWER_MODELS)[number];
