/** An answer carries the model name of this catalogue (`caller`) or of its supplier (`supplier`). */
export const ANSWER_MODELS = ['caller', 'supplier'] as const;
export type AnswerModel = (typeof ANSWER_MODELS)[number];
