import { createRequire } from 'node:module';

export interface PdfFonts {
  readonly regular: string;
  readonly bold: string;
  /** Replaces characters that the fonts cannot show. */
  readonly printable: (text: string) => string;
}

const { resolve } = createRequire(__filename);

/** Characters outside Western Europe's, which the standard fonts of every PDF reader lack. */
const beyondStandardFonts =
  /[^\n\u0020-\u007e\u00a1-\u00ff\u20ac\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026]/;
const PLACEHOLDER = '?';

/** Chooses the smallest fonts that cover the document. Fonts other than the standard ones are embedded as subsets. */
export function chooseFonts(pdf: PDFKit.PDFDocument, text: string, font: string | undefined): PdfFonts {
  if (!beyondStandardFonts.test(simplify(text))) {
    return { regular: 'Helvetica', bold: 'Helvetica-Bold', printable: simplify };
  }
  pdf.registerFont('regular', font ?? resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'));
  pdf.registerFont('bold', font ?? resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'));
  // Checked before anything is drawn, because the check changes the current font.
  const supported = new Set(simplify(text));
  for (const name of ['regular', 'bold']) {
    const isSupported = glyphCheck(pdf.font(name));
    for (const letter of supported) if (!isSupported(letter)) supported.delete(letter);
  }
  const replaceUnsupported = (letter: string): string => (supported.has(letter) ? letter : PLACEHOLDER);
  return {
    regular: 'regular',
    bold: 'bold',
    printable: (line) => [...simplify(line)].map(replaceUnsupported).join(''),
  };
}

/** Replaces special spaces and the minus of Intl by characters that every font has. */
const simplify = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(/[\u00a0\u202f\u2009]/g, ' ')
    .replaceAll('\u2212', '-');

/** The package keeps the open font, with its glyphs, in an untyped field. */
function glyphCheck(pdf: PDFKit.PDFDocument): (letter: string) => boolean {
  const { font } = (pdf as unknown as { _font: { font: { hasGlyphForCodePoint(point: number): boolean } } })
    ._font;
  return (letter) => font.hasGlyphForCodePoint(letter.codePointAt(0) ?? 0);
}
