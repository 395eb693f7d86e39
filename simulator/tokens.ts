// The simulator's own tokeniser, easy to recompute: four UTF-16 units are one token, an image is 85.
const CHARACTERS_PER_TOKEN = 4;
const TOKENS_PER_IMAGE = 85;

/** Size of a prompt: the characters a model would read, and its images. */
export interface PromptWeight {
  characters: number;
  images: number;
}

export function countTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

export function countPrompt(weight: PromptWeight): number {
  return Math.max(1, Math.ceil(weight.characters / CHARACTERS_PER_TOKEN) + TOKENS_PER_IMAGE * weight.images);
}
