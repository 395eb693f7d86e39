import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  editedJsonObject,
  fault,
  fromUnknown,
  isLong,
  type JsonFields,
  type MaybePromise,
  parseJsonInSlices,
  parseJsonText,
  printJsonInSlices,
  withDeadline,
} from '../../kernel';
import { Database, Notifications, Settings } from '../../platform';
import { dialects, isRecord, isSealed } from '../../protocol';
import type { GatewayCall, Inbound, StoredResponses } from '../intake';
import { findFinalResponse } from './final-response';
import {
  itemsOf,
  MAX_ID_LENGTH,
  type ResponseReferences,
  findReferences,
  storageDisabledError,
  unknownItemError,
  unknownResponseError,
} from './references';
import { ResponseCache } from './response-cache';
import { type NewStoredResponse, type StoredResponse, ResponseStore } from './response-store';
import { ResponseWriter } from './response-writer';

const MAX_LOOKUP_MS = 5_000;
const REMOVED_CHANNEL = 'kept_response_gone';
/** Catalogue name of the model, stored with a response that carries the supplier's name. */
const MODEL_FIELD = 'svc_model';

/**
 * Responses of `/v1/responses`, stored for a day for the key that got them. Later requests of the key can refer to them
 * and their items.
 */
@Injectable()
export class StoredResponsesService implements StoredResponses, OnApplicationBootstrap {
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
    await this.notifications.on(REMOVED_CHANNEL, (payload) => {
      const separator = payload.indexOf(' ');
      this.cache.remove(Number(payload.slice(0, separator)), payload.slice(separator + 1));
    });
  }

  expand(inbound: Inbound): MaybePromise<Inbound> {
    const references = findReferences(inbound.body);
    if (this.settings.responsesStore === 'on')
      return references === null ? inbound : this.expandReferences(inbound, references);
    if (references !== null) throw storageDisabledError(references);
    return { ...inbound, isStorageDisabled: true };
  }

  save({ inbound, stream }: GatewayCall, model: string, answer: Buffer | string): Promise<void> | undefined {
    if (!this.isStored(inbound.body)) return undefined;
    const response = findFinalResponse(answer, stream);
    if (response === null) return undefined;
    const storedResponse = this.createStored(
      inbound,
      response.model === model ? response : { ...response, [MODEL_FIELD]: model },
    );
    if (storedResponse === null) return undefined;
    const items = itemsOf(inbound.body.input);
    if (isLong(inbound))
      return printJsonInSlices(items).then((input) => this.cacheAndWrite(storedResponse, input));
    return this.cacheAndWrite(storedResponse, Buffer.from(JSON.stringify(items)));
  }

  private cacheAndWrite(response: Omit<NewStoredResponse, 'input'>, input: Buffer): Promise<void> {
    const isInputStored = input.length <= this.settings.responsesStoreAnswerLimitBytes;
    const storedResponse = { ...response, input: isInputStored ? input : null };
    this.cache.add(storedResponse);
    return this.writer.write(storedResponse);
  }

  isStored(body: JsonFields): boolean {
    return this.settings.responsesStore === 'on' && body.store !== false;
  }

  async get(keyId: number, responseId: string): Promise<JsonFields | null> {
    const [storedResponse] = await this.find(keyId, [responseId], []);
    if (storedResponse === undefined) return null;
    const { [MODEL_FIELD]: _, ...response } = recordIn(storedResponse.answer);
    return response;
  }

  async inputOf(keyId: number, responseId: string): Promise<readonly unknown[] | null> {
    const [storedResponse] = await this.find(keyId, [responseId], []);
    return storedResponse === undefined || storedResponse.input === null
      ? null
      : listIn(await parseJsonInSlices(storedResponse.input));
  }

  async remove(keyId: number, responseId: string): Promise<boolean> {
    const wasCached = this.cache.response(keyId, responseId) !== undefined;
    this.cache.remove(keyId, responseId);
    const wasInDatabase = await withLookupDeadline(this.store.remove(keyId, responseId));
    await this.database.query('SELECT pg_notify($1, $2)', [REMOVED_CHANNEL, `${keyId} ${responseId}`]);
    return wasCached || wasInDatabase;
  }

  private async expandReferences(
    inbound: Inbound,
    { previous, items }: ResponseReferences,
  ): Promise<Inbound> {
    const { body } = inbound;
    const { keyId } = inbound.caller;
    const itemIds = [...items.values()];
    const responses = await this.find(keyId, previous === null ? [] : [previous], itemIds);
    const byId = itemsById(responses, itemIds);
    const inputItems = itemsOf(body.input).map((item, index) => {
      const id = items.get(index);
      if (id === undefined) return item;
      const storedItem = byId.get(id);
      if (storedItem === undefined) throw unknownItemError(id, index);
      return storedItem;
    });
    const input = [...(previous === null ? [] : await conversationOf(responses, previous)), ...inputItems];
    const edits = { set: { input }, remove: new Set(['previous_response_id']) };
    const expandedBody = await editedJsonObject(inbound, edits);
    if (expandedBody.bytes.length > this.settings.bodyLimitBytes) {
      const message =
        'The request and the earlier items it refers to are larger together than a request may be.';
      throw fault('request_too_large', { param: 'input', message });
    }
    const writers = [...new Set(responses.flatMap(modelsOfEncryptedContent))];
    const callers = modelsByToolCall(responses);
    return {
      ...inbound,
      ...expandedBody,
      writers,
      callers,
      ...(previous !== null && { previousResponseId: previous }),
    };
  }

  private async find(
    keyId: number,
    responseIds: readonly string[],
    itemIds: readonly string[],
  ): Promise<StoredResponse[]> {
    const cached = new Set<StoredResponse>();
    const isNotCached = (storedResponse: StoredResponse | undefined): boolean =>
      storedResponse === undefined || !cached.add(storedResponse);
    const missingResponses = responseIds.filter((id) => isNotCached(this.cache.response(keyId, id)));
    const missingItems = itemIds.filter((id) => isNotCached(this.cache.withItem(keyId, id)));
    if (missingResponses.length === 0 && missingItems.length === 0) return [...cached];
    return [...cached, ...(await withLookupDeadline(this.store.find(keyId, missingResponses, missingItems)))];
  }

  private createStored({ caller }: Inbound, response: JsonFields): Omit<NewStoredResponse, 'input'> | null {
    const { id, output } = response;
    const maxBytes = this.settings.responsesStoreAnswerLimitBytes;
    if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH || !Array.isArray(output))
      return null;
    const answer = Buffer.from(JSON.stringify(response));
    if (answer.length > maxBytes) return null;
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
  responses: readonly StoredResponse[],
  responseId: string,
): Promise<readonly unknown[]> {
  for (const storedResponse of responses) {
    if (storedResponse.responseId === responseId && storedResponse.input !== null)
      return [...listIn(await parseJsonInSlices(storedResponse.input)), ...outputOf(storedResponse)];
  }
  throw unknownResponseError(responseId);
}

function itemsById(responses: readonly StoredResponse[], itemIds: readonly string[]): Map<string, unknown> {
  const byId = new Map<string, unknown>();
  const remaining = new Set(itemIds);
  for (const storedResponse of responses) {
    for (const item of outputOf(storedResponse)) {
      const id = itemIdOf(item);
      if (id !== undefined && remaining.delete(id)) byId.set(id, item);
    }
  }
  return byId;
}

const itemIdOf = (item: unknown): string | undefined =>
  isRecord(item) && typeof item.id === 'string' && item.id !== '' && item.id.length <= MAX_ID_LENGTH
    ? item.id
    : undefined;

const outputOf = ({ answer }: StoredResponse): readonly unknown[] => listIn(recordIn(answer).output);

/** Models whose encrypted content is in the response; without such content, a response is not bound to its model. */
function modelsOfEncryptedContent(storedResponse: StoredResponse): string[] {
  // Content that was encrypted here is left out wherever it cannot be read.
  const isEncryptedBySupplier = (item: unknown): boolean =>
    isRecord(item) && typeof item.encrypted_content === 'string' && !isSealed(item.encrypted_content);
  return outputOf(storedResponse).some(isEncryptedBySupplier) ? modelOf(storedResponse) : [];
}

function modelsByToolCall(responses: readonly StoredResponse[]): Map<string, string> {
  const callers = new Map<string, string>();
  for (const storedResponse of responses) {
    const [model] = modelOf(storedResponse);
    if (model === undefined) continue;
    for (const id of dialects.responses.callsIn(recordIn(storedResponse.answer))) callers.set(id, model);
  }
  return callers;
}

function modelOf({ answer }: StoredResponse): string[] {
  const { model: told, [MODEL_FIELD]: model = told } = recordIn(answer);
  return typeof model === 'string' ? [model] : [];
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function recordIn(bytes: Buffer): JsonFields {
  const value = parseJsonText(bytes.toString('utf8'));
  return isRecord(value) ? value : {};
}

async function withLookupDeadline<T>(work: Promise<T>): Promise<T> {
  try {
    return await withDeadline(MAX_LOOKUP_MS, work);
  } catch (cause) {
    // An id that the database cannot hold is the caller's mistake.
    const refusal = fromUnknown(cause);
    if (refusal.status < 500) throw refusal;
    const message =
      'Earlier answers cannot be looked up right now. Try again, or repeat the earlier items in input.';
    throw fault('service_unavailable', { message, retryAfterSeconds: 1, cause });
  }
}
