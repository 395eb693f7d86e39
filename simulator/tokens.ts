// The simulator's own tokeniser: four UTF-16 units are one token, an image is 85. Anyone can recompute it.
const charactersPerToken = 4;
const tokensPerImage = 85;

/** A prompt weighs the characters that a model would read, and its images. */
export interface PromptWeight {
  characters: number;
  images: number;
}

export function countTokens(text: string): number {
  return Math.ceil(text.length / charactersPerToken);
}

export function countPrompt(weight: PromptWeight): number {
  return Math.max(1, Math.ceil(weight.characters / charactersPerToken) + tokensPerImage * weight.images);
}
