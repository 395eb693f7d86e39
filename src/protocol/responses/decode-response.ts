import { type Fault } from '../../kernel';
import { missingContent } from '../response-check';
import { type DecodedResponse, type ReplyContext } from '../canonical';
import { type ResponseReading, readResponse, textOf } from '../read-response';
import { isRecord } from '../usage';
import { checkResponsesResponse } from './check-response';
import { readResponsesError } from './errors';
import { readFinish } from './finish';
import { ItemReader } from './read-items';
import { findResponsesUsage, normaliseResponsesUsage } from './usage';

export const decodeResponsesResponse = (body: unknown, reply: Partial<ReplyContext> = {}): DecodedResponse =>
  readResponse(body, reply, { readError: readResponsesError, checkAnswer: checkResponsesResponse }, read);

function read({ body, emission, tally }: ResponseReading): Fault | undefined {
  if (!Array.isArray(body.output)) return missingContent('output');
  emission.start(textOf(body.id), textOf(body.model));
  const items = new ItemReader(emission, tally);
  for (const [index, item] of body.output.entries()) if (isRecord(item)) items.finishItem(index, item);
  emission.report(normaliseResponsesUsage(findResponsesUsage(body)));
  emission.end(readFinish(body));
  return undefined;
}
