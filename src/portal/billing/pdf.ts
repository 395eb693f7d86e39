import type PdfKit from 'pdfkit';
import { type PdfFonts, chooseFonts } from './pdf-fonts';

interface PdfTable {
  readonly heading: string;
  readonly columns: readonly string[];
  /** The last cell of a row is a figure, aligned right. */
  readonly rows: readonly (readonly string[])[];
  readonly total?: readonly string[];
  readonly after?: readonly string[];
}

export interface PdfDocument {
  readonly brand: string;
  readonly heading: string;
  readonly language: string;
  readonly to: readonly string[];
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly tables: readonly PdfTable[];
  readonly note: string | null;
  /**
   * The operator's font for characters outside Western Europe; defaults to one with Latin, Greek, Cyrillic and more.
   */
  readonly font: string | undefined;
}

interface PdfCanvas {
  readonly pdf: PDFKit.PDFDocument;
  readonly fonts: PdfFonts;
}

const MARGIN = 56;
const ROW = 18;
const BOTTOM = 780;
const WIDTH = 595 - 2 * MARGIN;

export async function renderPdf(document: PdfDocument): Promise<Buffer> {
  const { default: PdfDocumentClass } = (await import('pdfkit')) as { default: typeof PdfKit };
  const { heading, brand, language, tables } = document;
  const pdf = new PdfDocumentClass({
    size: 'A4',
    margin: MARGIN,
    info: { Title: heading, Author: brand },
    lang: language,
  });
  const canvas = { pdf, fonts: chooseFonts(pdf, JSON.stringify(document), document.font) };
  const chunks: Buffer[] = [];
  const done = new Promise<Buffer>((resolve, reject) => {
    pdf.on('data', (chunk: Buffer) => chunks.push(chunk));
    pdf.on('end', () => resolve(Buffer.concat(chunks)));
    pdf.on('error', reject);
  });
  drawHead(canvas, document);
  for (const table of tables) drawTable(canvas, table);
  pdf.end();
  return done;
}

function drawHead(
  { pdf, fonts: letters }: PdfCanvas,
  { brand, heading, to, facts, note }: PdfDocument,
): void {
  pdf.font(letters.bold).fontSize(11).text(letters.printable(brand));
  pdf.moveDown(1.5).fontSize(20).text(letters.printable(heading));
  pdf.font(letters.regular).fontSize(9);
  if (note !== null) pdf.moveDown(0.5).text(letters.printable(note));
  pdf.fontSize(10).moveDown(1);
  for (const line of to) if (line !== '') pdf.text(letters.printable(line));
  pdf.moveDown(1);
  for (const [label, value] of facts) {
    pdf.font(letters.bold).text(`${letters.printable(label)}: `, { continued: true });
    pdf.font(letters.regular).text(letters.printable(value));
  }
}

function drawTable(canvas: PdfCanvas, { heading, columns, rows, total, after }: PdfTable): void {
  const { pdf, fonts: letters } = canvas;
  pdf.moveDown(1.5);
  if (pdf.y > BOTTOM - 4 * ROW) pdf.addPage();
  pdf.font(letters.bold).fontSize(12).text(letters.printable(heading), MARGIN);
  pdf.moveDown(0.5).fontSize(9);
  drawRow(canvas, columns);
  pdf.font(letters.regular);
  for (const row of rows) drawRow(canvas, row);
  pdf.font(letters.bold);
  if (total !== undefined) drawRow(canvas, total);
  pdf.font(letters.regular);
  if (after !== undefined) drawRow(canvas, after);
  pdf.fontSize(10);
}

function drawRow({ pdf, fonts: letters }: PdfCanvas, cells: readonly string[]): void {
  if (pdf.y > BOTTOM - ROW) pdf.addPage();
  const top = pdf.y;
  const width = WIDTH / cells.length;
  for (const [index, cell] of cells.entries()) {
    pdf.text(letters.printable(cell), MARGIN + index * width, top + 4, {
      width: width - 6,
      height: ROW - 4,
      align: index === cells.length - 1 ? 'right' : 'left',
      ellipsis: true,
      lineBreak: false,
    });
  }
  const line = top + ROW;
  pdf
    .moveTo(MARGIN, line)
    .lineTo(MARGIN + WIDTH, line)
    .lineWidth(0.5)
    .strokeColor('#d5ddd9')
    .stroke();
  pdf.x = MARGIN;
  pdf.y = line;
}
