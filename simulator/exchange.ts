import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkAccess, keyOf, styleOf } from './authorise';
import { errorReply, type Style } from './complaint';
import { geminiModelOf } from './dialects/gemini';
import type { Fault, FaultBook } from './faults';
import { isObject, parseJson, textOf, type JsonObject } from './json';
import { parseMultipart } from './multipart';
import { Playback } from './playback';
import type { Entry, Recorder } from './recorder';
import { prepare, type Prepared, type ReplyCache } from './reply-cache';
import { jsonReply, type Reply } from './reply';
import type { ResponseShelf } from './dialects/response-shelf';
import { routeOf } from './routes';
import { findFault, scriptOf, streamHeaders } from './script';
import type { Call, Route } from './route';
import type { Settings, VendorRules } from './settings';
import { substituteFor } from './substitute';
import type { UsageVariant } from './usage';
import { brokenRule, servesOn, vendorModel, wordsOf } from './vendors';

/** All lanes of one simulator share these. */
export interface Shared {
  readonly settings: Settings;
  readonly faults: FaultBook;
  readonly recorder: Recorder;
  readonly cache: ReplyCache;
  readonly shelf: ResponseShelf;
  readonly vendors: { rules: VendorRules };
}

export interface LaneName {
  readonly name: string;
  readonly region: string;
}

const largestBody = 64 * 1024 * 1024;
const largestMessagesBody = 32 * 1024 * 1024;

/** The model that the request names, in its path, its form or its body. */
function modelOf({ wire, media }: Route, { path, bytes, headers, body }: Call): string {
  if (wire === 'gemini') return geminiModelOf(path);
  if (media !== 'multipart') return textOf(body['model']);
  const part = parseMultipart(bytes, headers['content-type'])?.find(({ name }) => name === 'model');
  return part?.bytes.toString() ?? '';
}

/** One request: recorded, read, answered, and recorded again when its connection ends. */
export class Exchange {
  private readonly entry: Entry;
  private readonly chunks: Buffer[] = [];
  private size = 0;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly lane: LaneName,
    private readonly shared: Shared,
  ) {
    this.entry = shared.recorder.open(request, lane.name, lane.region);
    response.once('close', () => this.closed());
    request.on('data', (chunk: Buffer) => {
      this.size += chunk.length;
      if (this.size <= largestBody) this.chunks.push(chunk);
    });
    request.once('end', () => this.answer());
    // A client that leaves while it still sends shows in `close`.
    request.on('error', () => undefined);
  }

  private closed(): void {
    const { entry, response, shared } = this;
    shared.recorder.close(
      entry,
      entry.broken ? 'fault' : response.writableFinished ? 'finished' : 'client-closed',
    );
  }

  private answer(): void {
    const { request, entry, shared, chunks } = this;
    const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    const style = styleOf(routeOf(entry.path), entry.path, request.headers);
    const plain = this.prepared(style, bytes);
    entry.model = plain.model;
    entry.rule = plain.reply.kind === 'whole' ? textOf(plain.reply.headers['x-sim-rule']) : '';
    entry.words =
      entry.rule === '' || plain.reply.kind !== 'whole'
        ? ''
        : wordsOf(parseJson(Buffer.concat(plain.reply.body).toString())?.value);
    const faults = shared.faults.faultsFor({
      path: entry.path,
      lane: this.lane.name,
      key: keyOf(request.headers),
      model: plain.model,
    });
    entry.faults = faults.map((fault) => fault.kind);
    shared.recorder.received(entry, bytes);
    if (faults.length === 0) this.send(plain);
    else this.sendFaulty(this.faulty(style, bytes, plain, faults), faults);
  }

  private faulty(style: Style, bytes: Buffer, plain: Prepared, faults: readonly Fault[]): Reply {
    const usage = findFault(faults, 'wrong-usage');
    const reply = usage ? this.work(style, bytes, usage.variant).reply : plain.reply;
    return substituteFor(faults, style, reply) ?? reply;
  }

  /** Access is checked for every request; the reply of a repeated request is cached. */
  private prepared(style: Style, bytes: Buffer): Prepared {
    const complaint = checkAccess(style, this.request.headers);
    if (complaint) return prepare(errorReply(style, complaint), '');
    const type = this.request.headers['content-type'] ?? '';
    const version = style === 'messages' ? 'm' : 'o';
    const owner = routeOf(this.entry.path)?.stores === true ? keyOf(this.request.headers) : '';
    const { headers } = this.request;
    // Signatures hold for one account, and betas change what is refused.
    const terms = `${keyOf(headers)} ${String(headers['anthropic-beta'] ?? '')} ${this.shared.vendors.rules}`;
    const key = `${version}${this.request.method ?? ''} ${this.entry.url} ${type} ${terms}\n${bytes.toString('latin1')}`;
    const known = this.shared.cache.get(key);
    if (known !== undefined) return known;
    const prepared = this.work(style, bytes);
    // A response that is not stored yet may be later.
    const mayChange = owner !== '' && prepared.reply.kind !== 'stream' && prepared.reply.status !== 200;
    if (!mayChange) this.shared.cache.set(key, prepared);
    return prepared;
  }

  private work(style: Style, bytes: Buffer, usageVariant?: UsageVariant): Prepared {
    const { entry, request, shared } = this;
    const refuse = (status: number, message: string): Prepared =>
      prepare(errorReply(style, { status, message }), '');
    const route = routeOf(entry.path);
    if (route === undefined) return refuse(404, `Invalid URL (${entry.method} ${entry.path})`);
    if (route.method !== entry.method) return refuse(405, `Not allowed to ${entry.method} on ${entry.path}.`);
    if (this.size > (style === 'messages' ? largestMessagesBody : largestBody)) {
      return refuse(413, 'Request exceeds the maximum size');
    }
    const body = route.media === 'json' ? jsonBody(bytes) : {};
    if (body === undefined) return refuse(400, 'We could not parse the JSON body of your request.');
    const { headers } = request;
    const { settings, shelf } = shared;
    const key = keyOf(headers);
    const query = new URL(entry.url, 'http://localhost').searchParams;
    const call = { body, bytes, headers, path: entry.path, query, key, settings, shelf, usageVariant };
    const model = modelOf(route, call);
    return prepare(this.refusal(style, route, call, model) ?? route.handler(call), model);
  }

  /** The vendor of a real model refuses a request so before it works on it. */
  private refusal(style: Style, { wire }: Route, call: Call, model: string): Reply | undefined {
    const known = vendorModel(model);
    if (known === undefined || wire === undefined) return undefined;
    if (!servesOn(wire, known)) {
      const message = `The model \`${model}\` does not exist or you do not have access to it.`;
      return errorReply(style, { status: 404, message, code: 'model_not_found', param: 'model' });
    }
    if (this.shared.vendors.rules === 'lenient') return undefined;
    const broken = brokenRule(wire, call, known);
    if (broken === undefined) return undefined;
    const reply = jsonReply(broken.body, { status: broken.status });
    return { ...reply, headers: { ...reply.headers, 'x-sim-rule': broken.rule } };
  }

  private send(prepared: Prepared): void {
    const { response, entry } = this;
    const { reply, bytes, events } = prepared;
    const { delayMs = 0, firstTokenMs = 0, paceMs } = reply.tempo ?? {};
    if (delayMs > 0 || firstTokenMs > 0 || paceMs !== undefined) return this.sendFaulty(reply, []);
    entry.status = reply.kind === 'stream' ? 200 : reply.status;
    entry.bytes = bytes.length;
    entry.events = events;
    const own =
      reply.kind === 'stream' ? streamHeaders : { ...reply.headers, 'content-length': bytes.length };
    response.writeHead(entry.status, { ...own, ...this.signature() });
    response.end(bytes);
  }

  private sendFaulty(reply: Reply, faults: readonly Fault[]): void {
    for (const [name, value] of Object.entries(this.signature())) this.response.setHeader(name, value);
    const steps = scriptOf(reply, faults, (least, most) => this.shared.faults.between(least, most));
    new Playback(this.response, steps, this.entry).run();
  }

  /** Headers that tell one answer from the next, and this lane from another. */
  private signature(): Record<string, string> {
    const id = `req_sim_${this.entry.id}`;
    const { name, region } = this.lane;
    return { 'x-request-id': id, 'request-id': id, 'x-sim-name': name, 'x-sim-region': region };
  }
}

function jsonBody(bytes: Buffer): JsonObject | undefined {
  const value = parseJson(bytes.toString())?.value;
  return isObject(value) ? value : undefined;
}
