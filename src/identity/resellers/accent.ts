import { fault } from '../../kernel';

export interface Accents {
  readonly light: string;
  readonly dark: string;
}

/** Background colours of the style sheet, and the text colour of a button in the accent. */
const backgrounds = {
  light: ['#f5f7f6', '#ffffff', '#eaefed'],
  dark: ['#0d1412', '#141d1a', '#0a100e', '#06211e'],
} as const;
const MIN_CONTRAST = 4.5;

export function checkAccents(accents: Accents): void {
  for (const theme of ['light', 'dark'] as const) {
    const lowest = Math.min(...backgrounds[theme].map((background) => contrast(accents[theme], background)));
    if (lowest >= MIN_CONTRAST) continue;
    const figures = {
      colour: accents[theme],
      contrast: Math.floor(lowest * 10) / 10,
      least: MIN_CONTRAST,
    };
    throw fault('validation_error', {
      ...(theme === 'light'
        ? { param: 'accent', details: { reason: 'accent-pale', ...figures } }
        : { param: 'accent_dark', details: { reason: 'accent-dim', ...figures } }),
      message: `${figures.colour} has a contrast of ${figures.contrast} in the ${theme} theme; it takes ${MIN_CONTRAST}.`,
    });
  }
}

function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
