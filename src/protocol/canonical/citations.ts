import { isRecord, pick } from '../usage';
import { type DialectName, type JsonObject } from './request';

/** A source on the web; other citations point into documents that only the dialect of their model can name. */
interface WebCitation {
  readonly url: string;
  readonly title: string;
  /** The part of the text it stands for, where the model says so. */
  readonly start?: number;
  readonly end?: number;
}

/** The part of an answer's text that was written since its block began. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function webCitation(origin: DialectName, value: unknown): WebCitation | null {
  const cited = origin === 'chat' ? pick(value, 'url_citation') : value;
  if (!isRecord(cited)) return null;
  const kind = origin === 'messages' ? 'web_search_result_location' : 'url_citation';
  const url = textOf(cited.url);
  if (url === '' || textOf(pick(value, 'type')) !== kind) return null;
  const { start_index: start, end_index: end } = cited;
  const isPlaced = typeof start === 'number' && typeof end === 'number';
  return { url, title: textOf(cited.title), ...(isPlaced && { start, end }) };
}

/** The note that a citation is in chat or responses; null where they have no place for it. */
export function annotationFor(
  target: 'chat' | 'responses',
  origin: DialectName,
  value: unknown,
  span: TextSpan,
): JsonObject | null {
  if (origin === target && isRecord(value)) return value;
  const cited = webCitation(origin, value);
  if (cited === null) return null;
  const { url, title, start = span.start, end = span.end } = cited;
  const note = { start_index: start, end_index: end, url, title };
  return target === 'chat' ? { type: 'url_citation', url_citation: note } : { type: 'url_citation', ...note };
}
