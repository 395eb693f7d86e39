import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { readRule, type FaultRules } from './faults';
import { parseJson } from './json';
import type { Lane } from './lane';
import type { Recorder, WaitKind } from './recorder';
import type { VendorRules } from './settings';

export interface ControlContext {
  readonly faults: FaultRules;
  readonly recorder: Recorder;
  readonly lanes: readonly Lane[];
  /** Whether models of real vendors follow their vendors' rules. */
  readonly vendors: { rules: VendorRules };
  /** Opens and closes lanes to match the `refuse` rules. */
  readonly applyRefusals: () => Promise<void>;
}

interface ControlResponse {
  readonly status: number;
  readonly body: unknown;
}

const waitKinds: readonly WaitKind[] = ['received', 'closed', 'client-closed'];
const MAX_WAIT_MS = 600_000;

export function createControlServer(controlled: ControlContext): Server {
  return createServer((request, response) => {
    void readBody(request)
      .then((body) => route(request, body, controlled))
      .catch((error: unknown): ControlResponse => ({ status: 500, body: { error: String(error) } }))
      .then((answer) => send(response, answer));
  });
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function send(response: ServerResponse, { status, body }: ControlResponse): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function route(
  request: IncomingMessage,
  body: string,
  controlled: ControlContext,
): Promise<ControlResponse> {
  const { faults, recorder } = controlled;
  const url = new URL(request.url ?? '/', 'http://control');
  const [, resource, id] = url.pathname.split('/');
  switch (`${request.method ?? ''} ${resource ?? ''}`) {
    case 'GET faults':
      return { status: 200, body: { rules: faults.list() } };
    case 'POST faults':
      return addFault(body, controlled);
    case 'DELETE faults':
      return removeFaults(id, controlled);
    case 'GET requests': {
      const after = Number(url.searchParams.get('after') ?? 0);
      return { status: 200, body: { ...recorder.totals(), requests: recorder.list(after) } };
    }
    case 'DELETE requests':
      recorder.clear();
      return { status: 200, body: recorder.totals() };
    case 'GET stats':
      return { status: 200, body: statsOf(controlled) };
    case 'GET wait':
      return wait(url.searchParams, recorder);
    case 'PUT vendors':
      return setVendors(url.searchParams.get('rules'), controlled);
    default:
      return {
        status: 404,
        body: { error: `no ${request.method ?? ''} ${url.pathname} here; see README.md` },
      };
  }
}

function setVendors(rules: string | null, { vendors }: ControlContext): ControlResponse {
  if (rules !== 'strict' && rules !== 'lenient')
    return { status: 400, body: { error: 'rules: strict or lenient' } };
  vendors.rules = rules;
  return { status: 200, body: { rules } };
}

async function addFault(body: string, { faults, applyRefusals }: ControlContext): Promise<ControlResponse> {
  const parsedRule = readRule(parseJson(body)?.value);
  if ('wrong' in parsedRule) return { status: 400, body: { error: parsedRule.wrong } };
  const id = faults.add(parsedRule.rule);
  await applyRefusals();
  return { status: 201, body: { id } };
}

async function removeFaults(
  id: string | undefined,
  { faults, applyRefusals }: ControlContext,
): Promise<ControlResponse> {
  if (id !== undefined && !faults.remove(Number(id)))
    return { status: 404, body: { error: `no rule ${id}` } };
  if (id === undefined) faults.clear();
  await applyRefusals();
  return { status: 200, body: { rules: faults.list() } };
}

function statsOf({ recorder, lanes }: ControlContext): object {
  const counts = lanes.map((lane) => lane.counts());
  return {
    ...recorder.totals(),
    byPathAndStatus: recorder.routes(),
    connections: counts.reduce((sum, lane) => sum + lane.connections, 0),
    openConnections: counts.reduce((sum, lane) => sum + lane.open, 0),
    lanes: counts,
  };
}

async function wait(query: URLSearchParams, recorder: Recorder): Promise<ControlResponse> {
  const kind = waitKinds.find((known) => known === (query.get('kind') ?? 'received'));
  const count = Number(query.get('count') ?? 1);
  const deadline = Number(query.get('timeout_ms') ?? 10_000);
  if (kind === undefined) return { status: 400, body: { error: `kind: one of ${waitKinds.join(', ')}` } };
  if (!(count >= 0) || !(deadline >= 0 && deadline <= MAX_WAIT_MS)) {
    return { status: 400, body: { error: 'count and timeout_ms: numbers from 0' } };
  }
  const isReached = await recorder.wait(kind, count, deadline);
  return { status: isReached ? 200 : 408, body: { reached: isReached, ...recorder.totals() } };
}
