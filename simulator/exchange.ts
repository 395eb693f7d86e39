import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkAccess, keyOf, styleOf } from './authorise';
import { errorReply, type Style } from './complaint';
import { geminiModelOf } from './dialects/gemini';
import type { Fault, FaultRules } from './faults';
import { isObject, parseJson, textOf, type JsonObject } from './json';
import { parseMultipart } from './multipart';
import { Playback } from './playback';
import type { RecorderEntry, Recorder } from './recorder';
import { prepare, type PreparedReply, type ReplyCache } from './reply-cache';
import { jsonReply, type Reply } from './reply';
import type { SimulatedResponseStore } from './dialects/response-store';
import { routeOf } from './routes';
import { findFault, scriptOf, streamHeaders } from './script';
import type { RouteCall, Route } from './route';
import type { Settings, VendorRules } from './settings';
import { substituteFor } from './substitute';
import type { UsageVariant } from './usage';
import { brokenRule, servesOn, vendorModel, errorMessageOf } from './vendors';

/** State that all lanes of one simulator share. */
export interface SharedState {
  readonly settings: Settings;
  readonly faults: FaultRules;
  readonly recorder: Recorder;
  readonly cache: ReplyCache;
  readonly shelf: SimulatedResponseStore;
  readonly vendors: { rules: VendorRules };
}

export interface LaneName {
  readonly name: string;
  readonly region: string;
}

const MAX_BODY_BYTES = 64 * 1024 * 1024;
const MAX_MESSAGES_BODY_BYTES = 32 * 1024 * 1024;

/** Returns the model named in the path, the form or the body. */
function modelOf({ wire, media }: Route, { path, bytes, headers, body }: RouteCall): string {
  if (wire === 'gemini') return geminiModelOf(path);
  if (media !== 'multipart') return textOf(body['model']);
  const part = parseMultipart(bytes, headers['content-type'])?.find(({ name }) => name === 'model');
  return part?.bytes.toString() ?? '';
}

/** A request: recorded, parsed, answered, and recorded again when its connection closes. */
export class Exchange {
  private readonly entry: RecorderEntry;
  private readonly chunks: Buffer[] = [];
  private size = 0;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly lane: LaneName,
    private readonly shared: SharedState,
  ) {
    this.entry = shared.recorder.open(request, lane.name, lane.region);
    response.once('close', () => this.closed());
    request.on('data', (chunk: Buffer) => {
      this.size += chunk.length;
      if (this.size <= MAX_BODY_BYTES) this.chunks.push(chunk);
    });
    request.once('end', () => this.answer());
    // A client that disconnects while sending is handled in `close`.
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
    const plain = this.prepareReply(style, bytes);
    entry.model = plain.model;
    entry.rule = plain.reply.kind === 'whole' ? textOf(plain.reply.headers['x-sim-rule']) : '';
    entry.words =
      entry.rule === '' || plain.reply.kind !== 'whole'
        ? ''
        : errorMessageOf(parseJson(Buffer.concat(plain.reply.body).toString())?.value);
    const faults = shared.faults.faultsFor({
      path: entry.path,
      lane: this.lane.name,
      key: keyOf(request.headers),
      model: plain.model,
    });
    entry.faults = faults.map((fault) => fault.kind);
    shared.recorder.received(entry, bytes);
    if (faults.length === 0) this.send(plain);
    else this.sendFaulty(this.sendWithFaults(style, bytes, plain, faults), faults);
  }

  private sendWithFaults(style: Style, bytes: Buffer, plain: PreparedReply, faults: readonly Fault[]): Reply {
    const usage = findFault(faults, 'wrong-usage');
    const reply = usage ? this.computeReply(style, bytes, usage.variant).reply : plain.reply;
    return substituteFor(faults, style, reply) ?? reply;
  }

  /** Checks access for every request; the reply to a repeated request comes from the cache. */
  private prepareReply(style: Style, bytes: Buffer): PreparedReply {
    const complaint = checkAccess(style, this.request.headers);
    if (complaint) return prepare(errorReply(style, complaint), '');
    const type = this.request.headers['content-type'] ?? '';
    const version = style === 'messages' ? 'm' : 'o';
    const owner = routeOf(this.entry.path)?.stores === true ? keyOf(this.request.headers) : '';
    const { headers } = this.request;
    // Part of the cache key: signatures are bound to an account, and beta headers change what is rejected.
    const terms = `${keyOf(headers)} ${String(headers['anthropic-beta'] ?? '')} ${this.shared.vendors.rules}`;
    const key = `${version}${this.request.method ?? ''} ${this.entry.url} ${type} ${terms}\n${bytes.toString('latin1')}`;
    const cachedReply = this.shared.cache.get(key);
    if (cachedReply !== undefined) return cachedReply;
    const newReply = this.computeReply(style, bytes);
    // A response that is not stored yet may be stored later.
    const mayChange = owner !== '' && newReply.reply.kind !== 'stream' && newReply.reply.status !== 200;
    if (!mayChange) this.shared.cache.set(key, newReply);
    return newReply;
  }

  private computeReply(style: Style, bytes: Buffer, usageVariant?: UsageVariant): PreparedReply {
    const { entry, request, shared } = this;
    const refuse = (status: number, message: string): PreparedReply =>
      prepare(errorReply(style, { status, message }), '');
    const route = routeOf(entry.path);
    if (route === undefined) return refuse(404, `Invalid URL (${entry.method} ${entry.path})`);
    if (route.method !== entry.method) return refuse(405, `Not allowed to ${entry.method} on ${entry.path}.`);
    if (this.size > (style === 'messages' ? MAX_MESSAGES_BODY_BYTES : MAX_BODY_BYTES)) {
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

  /** Returns the rejection of the real model's vendor, before the simulator handles the request. */
  private refusal(style: Style, { wire }: Route, call: RouteCall, model: string): Reply | undefined {
    const known = vendorModel(model);
    if (known === undefined || wire === undefined) return undefined;
    if (!servesOn(wire, known)) {
      const message = `The model \`${model}\` does not exist or you do not have access to it.`;
      return errorReply(style, { status: 404, message, code: 'model_not_found', param: 'model' });
    }
    if (this.shared.vendors.rules === 'lenient') return undefined;
    const violation = brokenRule(wire, call, known);
    if (violation === undefined) return undefined;
    const reply = jsonReply(violation.body, { status: violation.status });
    return { ...reply, headers: { ...reply.headers, 'x-sim-rule': violation.rule } };
  }

  private send(prepared: PreparedReply): void {
    const { response, entry } = this;
    const { reply, bytes, events } = prepared;
    const { delayMs = 0, firstTokenMs = 0, paceMs } = reply.tempo ?? {};
    if (delayMs > 0 || firstTokenMs > 0 || paceMs !== undefined) return this.sendFaulty(reply, []);
    entry.status = reply.kind === 'stream' ? 200 : reply.status;
    entry.bytes = bytes.length;
    entry.events = events;
    const laneHeaders =
      reply.kind === 'stream' ? streamHeaders : { ...reply.headers, 'content-length': bytes.length };
    response.writeHead(entry.status, { ...laneHeaders, ...this.identifyingHeaders() });
    response.end(bytes);
  }

  private sendFaulty(reply: Reply, faults: readonly Fault[]): void {
    for (const [name, value] of Object.entries(this.identifyingHeaders()))
      this.response.setHeader(name, value);
    const steps = scriptOf(reply, faults, (min, max) => this.shared.faults.between(min, max));
    new Playback(this.response, steps, this.entry).run();
  }

  /** Headers that identify the response and the lane. */
  private identifyingHeaders(): Record<string, string> {
    const id = `req_sim_${this.entry.id}`;
    const { name, region } = this.lane;
    return { 'x-request-id': id, 'request-id': id, 'x-sim-name': name, 'x-sim-region': region };
  }
}

function jsonBody(bytes: Buffer): JsonObject | undefined {
  const value = parseJson(bytes.toString())?.value;
  return isObject(value) ? value : undefined;
}
