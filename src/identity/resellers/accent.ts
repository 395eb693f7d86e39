import { fault } from '../../kernel';

export interface Accents {
  /** It stands on light pages, as `#0a6460`. */
  readonly light: string;
  readonly dark: string;
}

/** The grounds of the style sheet's tokens, and what is written on a button of the accent. */
const grounds = {
  light: ['#f5f7f6', '#ffffff', '#eaefed'],
  dark: ['#0d1412', '#141d1a', '#0a100e', '#06211e'],
} as const;
const LEAST_CONTRAST = 4.5;

/** Text in the accent has to be readable in both themes. */
export function checkAccents(accents: Accents): void {
  for (const theme of ['light', 'dark'] as const) {
    const least = Math.min(...grounds[theme].map((ground) => contrast(accents[theme], ground)));
    if (least >= LEAST_CONTRAST) continue;
    const figures = {
      colour: accents[theme],
      contrast: Math.floor(least * 10) / 10,
      least: LEAST_CONTRAST,
    };
    throw fault('validation_error', {
      ...(theme === 'light'
        ? { param: 'accent', details: { reason: 'accent-pale', ...figures } }
        : { param: 'accent_dark', details: { reason: 'accent-dim', ...figures } }),
      message: `${figures.colour} has a contrast of ${figures.contrast} in the ${theme} theme; it takes ${LEAST_CONTRAST}.`,
    });
  }
}

/** The relative luminance of WCAG 2. */
function contrast(one: string, other: string): number {
  const [dim = 0, bright = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (bright + 0.05) / (dim + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
