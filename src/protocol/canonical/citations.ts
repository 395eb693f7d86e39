import { isRecord, pick } from '../usage';
import { type DialectName, type JsonObject } from './request';

/** A source on the web. Other citations point into documents that only their own dialect can express. */
interface WebCitation {
  readonly url: string;
  readonly title: string;
  /** The part of the text that the citation supports, if the model says so. */
  readonly start?: number;
  readonly end?: number;
}

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
  const hasPosition = typeof start === 'number' && typeof end === 'number';
  return { url, title: textOf(cited.title), ...(hasPosition && { start, end }) };
}

/** The annotation for a citation in chat or responses; null if they cannot express it. */
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
  const annotation = { start_index: start, end_index: end, url, title };
  return target === 'chat'
    ? { type: 'url_citation', url_citation: annotation }
    : { type: 'url_citation', ...annotation };
}
