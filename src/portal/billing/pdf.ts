import type PdfKit from 'pdfkit';

interface PdfTable {
  readonly heading: string;
  readonly columns: readonly string[];
  /** The last cell of a row is a figure and stands at the right edge. */
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
}

type Pdf = PDFKit.PDFDocument;

const MARGIN = 56;
const ROW = 18;
const BOTTOM = 780;
const WIDTH = 595 - 2 * MARGIN;

/** One plain A4 document. The package is loaded with the first one that is asked for. */
export async function renderPdf(document: PdfDocument): Promise<Buffer> {
  const { default: PdfDocumentMaker } = (await import('pdfkit')) as { default: typeof PdfKit };
  const { heading, brand, language, tables } = document;
  const pdf = new PdfDocumentMaker({
    size: 'A4',
    margin: MARGIN,
    info: { Title: safe(heading), Author: safe(brand) },
    lang: language,
  });
  const chunks: Buffer[] = [];
  const done = new Promise<Buffer>((resolve, reject) => {
    pdf.on('data', (chunk: Buffer) => chunks.push(chunk));
    pdf.on('end', () => resolve(Buffer.concat(chunks)));
    pdf.on('error', reject);
  });
  drawHead(pdf, document);
  for (const table of tables) drawTable(pdf, table);
  pdf.end();
  return done;
}

function drawHead(pdf: Pdf, { brand, heading, to, facts, note }: PdfDocument): void {
  pdf.font('Helvetica-Bold').fontSize(11).text(safe(brand));
  pdf.moveDown(1.5).fontSize(20).text(safe(heading));
  pdf.font('Helvetica').fontSize(9);
  if (note !== null) pdf.moveDown(0.5).text(safe(note));
  pdf.fontSize(10).moveDown(1);
  for (const line of to) if (line !== '') pdf.text(safe(line));
  pdf.moveDown(1);
  for (const [label, value] of facts) {
    pdf.font('Helvetica-Bold').text(`${safe(label)}: `, { continued: true });
    pdf.font('Helvetica').text(safe(value));
  }
}

function drawTable(pdf: Pdf, { heading, columns, rows, total, after }: PdfTable): void {
  pdf.moveDown(1.5);
  if (pdf.y > BOTTOM - 4 * ROW) pdf.addPage();
  pdf.font('Helvetica-Bold').fontSize(12).text(safe(heading), MARGIN);
  pdf.moveDown(0.5).fontSize(9);
  drawRow(pdf, columns);
  pdf.font('Helvetica');
  for (const row of rows) drawRow(pdf, row);
  pdf.font('Helvetica-Bold');
  if (total !== undefined) drawRow(pdf, total);
  pdf.font('Helvetica');
  if (after !== undefined) drawRow(pdf, after);
  pdf.fontSize(10);
}

function drawRow(pdf: Pdf, cells: readonly string[]): void {
  if (pdf.y > BOTTOM - ROW) pdf.addPage();
  const top = pdf.y;
  const width = WIDTH / cells.length;
  for (const [place, cell] of cells.entries()) {
    pdf.text(safe(cell), MARGIN + place * width, top + 4, {
      width: width - 6,
      height: ROW - 4,
      align: place === cells.length - 1 ? 'right' : 'left',
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

const otherLetters = /[^\u0020-\u007e\u00a1-\u00ff\u20ac\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026]/g;

/** The standard fonts have the letters of Western Europe; the spaces and the minus that Intl writes have twins there. */
const safe = (text: string): string =>
  text
    .normalize('NFC')
    .replaceAll(/[\u00a0\u202f\u2009]/g, ' ')
    .replaceAll('\u2212', '-')
    .replaceAll(otherLetters, '?');
