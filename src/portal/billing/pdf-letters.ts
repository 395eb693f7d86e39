import { createRequire } from 'node:module';

export interface Letters {
  readonly regular: string;
  readonly bold: string;
  /** The text with what the fonts can show of it. */
  readonly printable: (text: string) => string;
}

const { resolve } = createRequire(__filename);

/** The standard fonts, which every reader of PDF has, know the letters of Western Europe. */
const otherLetters = /[^\n\u0020-\u007e\u00a1-\u00ff\u20ac\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026]/;
const UNKNOWN = '?';

/** The smallest fonts that have the letters of a document; of others only the letters that are used are put inside. */
export function lettersFor(pdf: PDFKit.PDFDocument, text: string, font: string | undefined): Letters {
  if (!otherLetters.test(plain(text))) {
    return { regular: 'Helvetica', bold: 'Helvetica-Bold', printable: plain };
  }
  pdf.registerFont('regular', font ?? resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'));
  pdf.registerFont('bold', font ?? resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'));
  // Asked before anything is drawn: asking makes a font the current one.
  const letters = new Set(plain(text));
  for (const name of ['regular', 'bold']) {
    const isKnown = knownBy(pdf.font(name));
    for (const letter of letters) if (!isKnown(letter)) letters.delete(letter);
  }
  const shown = (letter: string): string => (letters.has(letter) ? letter : UNKNOWN);
  return { regular: 'regular', bold: 'bold', printable: (line) => [...plain(line)].map(shown).join('') };
}

/** Spaces and the minus that Intl writes have twins that every font has. */
const plain = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(/[\u00a0\u202f\u2009]/g, ' ')
    .replaceAll('\u2212', '-');

/** The package keeps the open font, which knows its letters, in a field without a type. */
function knownBy(pdf: PDFKit.PDFDocument): (letter: string) => boolean {
  const { font } = (pdf as unknown as { _font: { font: { hasGlyphForCodePoint(point: number): boolean } } })
    ._font;
  return (letter) => font.hasGlyphForCodePoint(letter.codePointAt(0) ?? 0);
}
