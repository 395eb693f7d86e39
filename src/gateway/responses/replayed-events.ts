import { formatEvent, type JsonFields } from '../../kernel';
import { isRecord } from '../../protocol';

/** The events of a kept response, as a stream of it would have had them; those up to `after` are left out. */
export function replayedEvents(response: JsonFields, after = -1): string {
  const events = [...eventsOf(response)].map(([type, fields], place) => ({
    place,
    text: formatEvent({ event: type, data: JSON.stringify({ type, sequence_number: place, ...fields }) }),
  }));
  return events.flatMap(({ place, text }) => (place > after ? [text] : [])).join('');
}

function* eventsOf(response: JsonFields): Generator<readonly [type: string, fields: JsonFields]> {
  const output: readonly unknown[] = Array.isArray(response.output) ? response.output : [];
  const open = { ...response, status: 'in_progress', output: [], usage: null };
  yield ['response.created', { response: open }];
  yield ['response.in_progress', { response: open }];
  for (const [index, item] of output.entries()) if (isRecord(item)) yield* itemEvents(item, index);
  yield [`response.${response.status === 'incomplete' ? 'incomplete' : 'completed'}`, { response }];
}

function* itemEvents(
  item: JsonFields,
  index: number,
): Generator<readonly [type: string, fields: JsonFields]> {
  const content: readonly unknown[] = Array.isArray(item.content) ? item.content : [];
  const begun = { ...item, status: 'in_progress', ...(item.type === 'message' && { content: [] }) };
  yield ['response.output_item.added', { output_index: index, item: begun }];
  for (const [place, part] of content.entries()) {
    if (!isRecord(part) || part.type !== 'output_text') continue;
    const where = { item_id: item.id, output_index: index, content_index: place };
    yield ['response.content_part.added', { ...where, part: { ...part, text: '', annotations: [] } }];
    yield ['response.output_text.delta', { ...where, delta: part.text, logprobs: [] }];
    yield ['response.output_text.done', { ...where, text: part.text, logprobs: [] }];
    yield ['response.content_part.done', { ...where, part }];
  }
  yield ['response.output_item.done', { output_index: index, item }];
}
