import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  editedJsonObject,
  fault,
  fromUnknown,
  isLong,
  type JsonFields,
  parseJsonInSlices,
  parseJsonText,
  printJsonInSlices,
  withDeadline,
} from '../../kernel';
import { Database, Notifications, Settings } from '../../platform';
import { dialects, isRecord, isSealed } from '../../protocol';
import type { Call, Inbound, KeptAnswers } from '../intake';
import { finalResponse } from './final-response';
import {
  itemsOf,
  LONGEST_ID,
  type References,
  referencesIn,
  refusedReference,
  unknownItem,
  unknownResponse,
} from './references';
import { ResponseCache } from './response-cache';
import { type FreshResponse, type KeptResponse, ResponseStore } from './response-store';
import { ResponseWriter } from './response-writer';

/** The longest that a request waits for the database. */
const LOOK_UP_MS = 5_000;
const GONE = 'kept_response_gone';
/** The name of the model here, kept beside an answer that carries its supplier's. */
const OWN_NAME = 'svc_model';

/**
 * Answers of `/v1/responses`, stored for a day for the key that got them. Later requests of the key can refer to them
 * and to their items.
 */
@Injectable()
export class KeptResponses implements KeptAnswers, OnApplicationBootstrap {
  private readonly cache = new ResponseCache();
  private readonly writer: ResponseWriter;

  constructor(
    private readonly store: ResponseStore,
    private readonly database: Database,
    private readonly notifications: Notifications,
    private readonly settings: Settings,
  ) {
    this.writer = new ResponseWriter(store);
  }

  async onApplicationBootstrap(): Promise<void> {
    this.notifications.onGap(() => this.cache.clear());
    await this.notifications.on(GONE, (payload) => {
      const at = payload.indexOf(' ');
      this.cache.remove(Number(payload.slice(0, at)), payload.slice(at + 1));
    });
  }

  /** The request with references replaced by their content; the same object where it has none. */
  expand(inbound: Inbound): Inbound | Promise<Inbound> {
    const references = referencesIn(inbound.body);
    if (this.settings.responsesStore === 'on')
      return references === null ? inbound : this.expanded(inbound, references);
    if (references !== null) throw refusedReference(references);
    return { ...inbound, isNotKept: true };
  }

  /** It is undefined where nothing is stored; otherwise it settles when later requests can find the answer. */
  keep({ inbound, stream }: Call, model: string, answer: Buffer | string): Promise<void> | undefined {
    if (!this.keeps(inbound.body)) return undefined;
    const response = finalResponse(answer, stream);
    if (response === null) return undefined;
    const kept = this.keptOf(
      inbound,
      response.model === model ? response : { ...response, [OWN_NAME]: model },
    );
    if (kept === null) return undefined;
    const items = itemsOf(inbound.body.input);
    if (isLong(inbound)) return printJsonInSlices(items).then((input) => this.write(kept, input));
    return this.write(kept, Buffer.from(JSON.stringify(items)));
  }

  private write(response: Omit<FreshResponse, 'input'>, input: Buffer): Promise<void> {
    const isKept = input.length <= this.settings.responsesStoreAnswerLimitBytes;
    const kept = { ...response, input: isKept ? input : null };
    this.cache.add(kept);
    return this.writer.write(kept);
  }

  /** An answer is stored where `store` does not forbid it. */
  keeps(body: JsonFields): boolean {
    return this.settings.responsesStore === 'on' && body.store !== false;
  }

  /** The response object; null when this key has none of this id. */
  async get(keyId: number, responseId: string): Promise<JsonFields | null> {
    const [kept] = await this.find(keyId, [responseId], []);
    if (kept === undefined) return null;
    const { [OWN_NAME]: _, ...response } = recordIn(kept.answer);
    return response;
  }

  /** The items led to a response; null when this key has none of this id, or its input was too much to keep. */
  async inputOf(keyId: number, responseId: string): Promise<readonly unknown[] | null> {
    const [kept] = await this.find(keyId, [responseId], []);
    return kept === undefined || kept.input === null ? null : listIn(await parseJsonInSlices(kept.input));
  }

  /** Deletes it on every node; true when it existed. */
  async remove(keyId: number, responseId: string): Promise<boolean> {
    const wasHere = this.cache.response(keyId, responseId) !== undefined;
    this.cache.remove(keyId, responseId);
    const wasThere = await inTime(this.store.remove(keyId, responseId));
    await this.database.query('SELECT pg_notify($1, $2)', [GONE, `${keyId} ${responseId}`]);
    return wasHere || wasThere;
  }

  private async expanded(inbound: Inbound, { previous, items }: References): Promise<Inbound> {
    const { body } = inbound;
    const { keyId } = inbound.caller;
    const wanted = [...items.values()];
    const found = await this.find(keyId, previous === null ? [] : [previous], wanted);
    const byId = itemsById(found, wanted);
    const own = itemsOf(body.input).map((item, at) => {
      const id = items.get(at);
      if (id === undefined) return item;
      const known = byId.get(id);
      if (known === undefined) throw unknownItem(id, at);
      return known;
    });
    const input = [...(previous === null ? [] : await conversationOf(found, previous)), ...own];
    const edits = { set: { input }, remove: new Set(['previous_response_id']) };
    const whole = await editedJsonObject(inbound, edits);
    if (whole.bytes.length > this.settings.bodyLimitBytes) {
      const message =
        'The request and the earlier items it refers to are larger together than a request may be.';
      throw fault('request_too_large', { param: 'input', message });
    }
    const writers = [...new Set(found.flatMap(writersOf))];
    const callers = callersIn(found);
    return {
      ...inbound,
      ...whole,
      writers,
      callers,
      ...(previous !== null && { previousResponseId: previous }),
    };
  }

  /** Responses come from this node's memory where possible, the rest from the database. */
  private async find(
    keyId: number,
    responseIds: readonly string[],
    itemIds: readonly string[],
  ): Promise<KeptResponse[]> {
    const near = new Set<KeptResponse>();
    const isFar = (kept: KeptResponse | undefined): boolean => kept === undefined || !near.add(kept);
    const farResponses = responseIds.filter((id) => isFar(this.cache.response(keyId, id)));
    const farItems = itemIds.filter((id) => isFar(this.cache.withItem(keyId, id)));
    if (farResponses.length === 0 && farItems.length === 0) return [...near];
    return [...near, ...(await inTime(this.store.find(keyId, farResponses, farItems)))];
  }

  /** Null means too large, or nothing that could be referred to. */
  private keptOf({ caller }: Inbound, response: JsonFields): Omit<FreshResponse, 'input'> | null {
    const { id, output } = response;
    const most = this.settings.responsesStoreAnswerLimitBytes;
    if (typeof id !== 'string' || id === '' || id.length > LONGEST_ID || !Array.isArray(output)) return null;
    const answer = Buffer.from(JSON.stringify(response));
    if (answer.length > most) return null;
    return {
      keyId: caller.keyId,
      responseId: id,
      itemIds: output.flatMap((item: unknown) => itemIdOf(item) ?? []),
      answer,
    };
  }
}

/** The conversation up to and including a response, without its instructions. */
async function conversationOf(
  found: readonly KeptResponse[],
  responseId: string,
): Promise<readonly unknown[]> {
  for (const kept of found) {
    if (kept.responseId === responseId && kept.input !== null)
      return [...listIn(await parseJsonInSlices(kept.input)), ...outputOf(kept)];
  }
  throw unknownResponse(responseId);
}

function itemsById(found: readonly KeptResponse[], wanted: readonly string[]): Map<string, unknown> {
  const byId = new Map<string, unknown>();
  const open = new Set(wanted);
  for (const kept of found) {
    for (const item of outputOf(kept)) {
      const id = itemIdOf(item);
      if (id !== undefined && open.delete(id)) byId.set(id, item);
    }
  }
  return byId;
}

const itemIdOf = (item: unknown): string | undefined =>
  isRecord(item) && typeof item.id === 'string' && item.id !== '' && item.id.length <= LONGEST_ID
    ? item.id
    : undefined;

const outputOf = ({ answer }: KeptResponse): readonly unknown[] => listIn(recordIn(answer).output);

/** These models wrote something sealed; an answer without that binds nothing to its model. */
function writersOf(kept: KeptResponse): string[] {
  // Content that was sealed here is left out wherever it cannot be read.
  const isBound = (item: unknown): boolean =>
    isRecord(item) && typeof item.encrypted_content === 'string' && !isSealed(item.encrypted_content);
  return outputOf(kept).some(isBound) ? modelOf(kept) : [];
}

/** Each tool call has the model that made it. */
function callersIn(found: readonly KeptResponse[]): Map<string, string> {
  const callers = new Map<string, string>();
  for (const kept of found) {
    const [model] = modelOf(kept);
    if (model === undefined) continue;
    for (const id of dialects.responses.callsIn(recordIn(kept.answer))) callers.set(id, model);
  }
  return callers;
}

function modelOf({ answer }: KeptResponse): string[] {
  const { model: told, [OWN_NAME]: model = told } = recordIn(answer);
  return typeof model === 'string' ? [model] : [];
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function recordIn(bytes: Buffer): JsonFields {
  const value = parseJsonText(bytes.toString('utf8'));
  return isRecord(value) ? value : {};
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  try {
    return await withDeadline(LOOK_UP_MS, work);
  } catch (cause) {
    // An id that the database cannot hold is the caller's fault.
    const refusal = fromUnknown(cause);
    if (refusal.status < 500) throw refusal;
    const message =
      'Earlier answers cannot be looked up right now. Try again, or repeat the earlier items in input.';
    throw fault('service_unavailable', { message, retryAfterSeconds: 1, cause });
  }
}
