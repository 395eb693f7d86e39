import {
  type RequestedFees,
  entryOf,
  type JsonFields,
  readModes,
  type Usage,
  type UseCounts,
  type UseName,
} from '../kernel';
import type { DialectName } from './canonical';
import { type CountReader, isRecord, pick } from './usage';

/**
 * A tool that the supplier is allowed to run, and its maximum number of uses, determined when the request is measured.
 */
export interface AllowedTool {
  readonly type: string;
  /** Index among the caller's tools; null if the tool is a separate field. */
  readonly index: number | null;
  readonly maxUses: number;
}

interface MeasuredRequest {
  readonly body: JsonFields;
  readonly tools: readonly AllowedTool[];
  readonly choices: number;
}

/** Uses and modes that a request in this dialect allows its supplier to bill in addition to text tokens. */
export function requestedFees(dialect: DialectName, request: MeasuredRequest): RequestedFees {
  const advisors = dialect === 'messages' ? advisorsIn(request.body) : [];
  return {
    uses: requestedUses[dialect](request),
    modes: readModes(request.body) ?? {},
    image: null,
    ...(advisors.length > 0 && { advisors }),
  };
}

const advisorsIn = ({ tools }: JsonFields): string[] =>
  listIn(tools).flatMap((tool) => {
    const [type, model] = [pick(tool, 'type'), pick(tool, 'model')];
    return typeof type === 'string' && type.startsWith('advisor_') ? [String(model)] : [];
  });

const requestedUses: Readonly<Record<DialectName, (request: MeasuredRequest) => UseCounts>> = {
  chat: chatUses,
  messages: messagesUses,
  responses: responsesUses,
};

const SEARCH_SIZES: ReadonlySet<unknown> = new Set(['low', 'medium', 'high']);

function searchUse(options: unknown): UseName {
  const size = pick(options, 'search_context_size');
  return SEARCH_SIZES.has(size) ? (`web_search_${size as 'low'}` as const) : 'web_search';
}

/** A model that searches does so once per choice. */
function chatUses({ body, tools, choices }: MeasuredRequest): UseCounts {
  const uses: Partial<Record<UseName, number>> = {};
  for (const { type, maxUses } of tools) {
    if (type === 'web_search_options') add(uses, searchUse(body[type]), choices);
    else if (type === 'search_parameters') {
      const live = body[type];
      const isDisabled = pick(live, 'mode') === 'off';
      if (!isDisabled)
        add(uses, 'web_search', countIn(pick(live, 'max_search_results'), DEFAULT_LIVE_SOURCES) * choices);
    } else add(uses, 'other_tool', maxUses * choices);
  }
  return uses;
}

/** Default number of sources of a live search; each is billed. */
const DEFAULT_LIVE_SOURCES = 20;

/** Tools by the prefix of their type, which ends in a date. */
const MESSAGES_TOOLS: readonly (readonly [prefix: string, use: UseName | null])[] = [
  ['web_search', 'web_search'],
  ['web_fetch', 'url_fetch'],
  ['code_execution', 'code_execution'],
  ['computer', 'computer_use'],
  ['custom', null],
  ['bash', null],
  ['mcp', null],
  ['text_editor', null],
  ['memory', null],
  ['tool_search_tool', null],
  ['advisor', null],
];

function messagesUses({ tools }: MeasuredRequest): UseCounts {
  const uses: Partial<Record<UseName, number>> = {};
  for (const { type, maxUses } of tools) {
    const entry = MESSAGES_TOOLS.find(([prefix]) => type === prefix || type.startsWith(`${prefix}_`));
    if (entry?.[1] === null) continue;
    const use = entry?.[1] ?? 'other_tool';
    add(uses, use, use === 'code_execution' ? 1 : maxUses);
  }
  return uses;
}

const RESPONSES_TOOLS: Readonly<Record<string, UseName | null>> = {
  mcp: null,
  tool_search: null,
  programmatic_tool_calling: null,
  file_search: 'file_search',
  code_interpreter: 'code_execution',
  shell: 'code_execution',
  image_generation: 'image_generation',
  x_search: 'x_search',
};
/** Containers are priced by memory; 1 GB is the default. */
const CONTAINERS: readonly UseName[] = [
  'code_execution_64g',
  'code_execution_16g',
  'code_execution_4g',
  'code_execution',
];

function containerUse(tool: unknown): UseName {
  const memory = pick(tool, 'container', 'memory_limit') ?? pick(tool, 'environment', 'memory_limit');
  if (memory === undefined || memory === null || memory === '1g') return 'code_execution';
  const candidate = typeof memory === 'string' ? `code_execution_${memory}` : '';
  return CONTAINERS.find((name) => name === candidate) ?? 'code_execution_64g';
}

const PICTURES: readonly UseName[] = ['image_generation_high', 'image_generation'];
const pictureUse = (tool: unknown): UseName =>
  pick(tool, 'quality') === 'high' ? 'image_generation_high' : 'image_generation';

const COMPUTERS: ReadonlySet<unknown> = new Set(['computer', 'computer_use_preview']);

function responsesUses({ body, tools }: MeasuredRequest): UseCounts {
  const uses: Partial<Record<UseName, number>> = {};
  const all = listIn(body.tools);
  for (const { type, index, maxUses } of tools) {
    const tool = index === null ? undefined : all[index];
    const name = type.startsWith('web_search') ? searchUse(tool) : entryOf(RESPONSES_TOOLS, type);
    if (name === null) continue;
    // A container is billed per session, not per run.
    if (name === 'code_execution') add(uses, containerUse(tool), 1);
    else if (name === 'image_generation') add(uses, pictureUse(tool), maxUses);
    else add(uses, name ?? 'other_tool', maxUses);
  }
  // The caller operates the computer, so a response ends with the first use.
  if (all.some((tool) => COMPUTERS.has(pick(tool, 'type')))) add(uses, 'computer_use', 1);
  return uses;
}

/**
 * Collects the uses of the supplier's tools that a response shows outside its usage object; one instance per response.
 */
export class ObservedToolUses {
  private readonly idsByUse = new Map<UseName, Set<unknown>>();

  constructor(private readonly dialect: DialectName) {}

  read(event: unknown): void {
    if (!isRecord(event)) return;
    if (this.dialect === 'responses') this.readResponses(event);
    else if (this.dialect === 'messages') this.readMessages(event);
    else this.readChat(event);
  }

  join(usage: Usage, requested: UseCounts): Usage {
    const uses = this.mergeUses(usage.uses, requested);
    return uses === usage.uses ? usage : { ...usage, uses };
  }

  private mergeUses(reported: UseCounts | null, requested: UseCounts): UseCounts | null {
    if (this.idsByUse.size === 0 && (this.dialect !== 'chat' || isEmpty(requested))) return reported;
    const uses: Partial<Record<UseName, number>> = { ...reported };
    const isChat = this.dialect === 'chat';
    if (isChat && reported === null) {
      // Chat does not indicate whether a model searched: the requested search is billed.
      for (const name of SEARCHES) if (requested[name] !== undefined) uses[name] = requested[name];
    }
    const counted = { ...uses };
    for (const [name, ids] of this.idsByUse) {
      const family = FAMILIES.find((names) => names.includes(name)) ?? [name];
      if (family.some((one) => counted[one] !== undefined)) continue;
      // A caller's own tool can have the name of one of the supplier's.
      if (name === 'x_search' && requested[name] === undefined) continue;
      const billedName = family.find((one) => requested[one] !== undefined) ?? name;
      // An image states its own quality.
      add(uses, name === 'image_generation_high' ? name : billedName, ids.size);
    }
    return Object.keys(uses).length === 0 ? null : uses;
  }

  private readChat({ choices }: JsonFields): void {
    for (const choice of listIn(choices)) {
      const annotations = pick(choice, 'message', 'annotations') ?? pick(choice, 'delta', 'annotations');
      const isCited = listIn(annotations).some((annotation) => pick(annotation, 'type') === 'url_citation');
      if (isCited) this.record('web_search', pick(choice, 'index') ?? 0);
    }
  }

  private readMessages(event: JsonFields): void {
    const startedBlocks =
      event.type === 'content_block_start' ? [event.content_block] : listIn(event.content);
    for (const block of startedBlocks) {
      if (!isRecord(block) || block.type !== 'server_tool_use') continue;
      const name = typeof block.name === 'string' ? block.name : '';
      const use = entryOf(MESSAGES_BLOCKS, name);
      if (use !== null) this.record(use ?? 'other_tool', use === 'code_execution' ? use : block.id);
    }
  }

  private readResponses(event: JsonFields): void {
    const items =
      event.type === 'response.output_item.done'
        ? [event.item]
        : listIn(pick(event, 'response', 'output') ?? event.output);
    for (const item of items) {
      if (!isRecord(item) || typeof item.type !== 'string') continue;
      const use = itemUse(item);
      // Opening a page and searching within it are not billed as searches.
      const isPage = item.type === 'web_search_call' && isPageAction(pick(item, 'action', 'type'));
      if (use !== undefined && !isPage) this.record(use, item.container_id ?? item.id ?? item);
    }
  }

  private record(use: UseName, id: unknown): void {
    const ids = this.idsByUse.get(use);
    if (ids === undefined) this.idsByUse.set(use, new Set([id]));
    else ids.add(id);
  }
}

const SEARCHES: readonly UseName[] = ['web_search', 'web_search_low', 'web_search_medium', 'web_search_high'];

/** Variants of one use, of which the requested size is billed. */
export const FAMILIES: readonly (readonly UseName[])[] = [SEARCHES, CONTAINERS, PICTURES];

function itemUse(item: JsonFields): UseName | undefined {
  if (item.type === 'image_generation_call') return pictureUse(item);
  if (item.type === 'custom_tool_call') return X_TOOLS.has(item.name) ? 'x_search' : undefined;
  return RESPONSES_ITEMS[String(item.type)];
}

/** Tool names with which a search of posts appears (xAI, recordings of 2026). */
const X_TOOLS: ReadonlySet<unknown> = new Set([
  'x_keyword_search',
  'x_semantic_search',
  'x_user_search',
  'x_thread_fetch',
]);

const isPageAction = (action: unknown): boolean =>
  action === 'open_page' || action === 'find_in_page' || action === 'find';

const MESSAGES_BLOCKS: Readonly<Record<string, UseName | null>> = {
  web_search: 'web_search',
  web_fetch: 'url_fetch',
  code_execution: 'code_execution',
  bash_code_execution: 'code_execution',
  text_editor_code_execution: 'code_execution',
  tool_search_tool_regex: null,
  tool_search_tool_bm25: null,
  advisor: null,
};

const RESPONSES_ITEMS: Readonly<Record<string, UseName>> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  code_interpreter_call: 'code_execution',
  shell_call: 'code_execution',
  x_search_call: 'x_search',
  computer_call: 'computer_use',
};

export function withModes(usage: unknown, beside: unknown): unknown {
  if (!isRecord(usage) || !isRecord(beside)) return usage;
  const { service_tier: tier } = beside;
  return typeof tier === 'string' && usage.service_tier === undefined
    ? { ...usage, service_tier: tier }
    : usage;
}

/** Tool calls as xAI counts them in its usage object (recordings of 2026); calls of MCP servers are free. */
const COUNTED_CALLS: Readonly<Record<string, UseName | null>> = {
  web_search_calls: 'web_search',
  x_search_calls: 'x_search',
  code_interpreter_calls: 'code_execution',
  file_search_calls: 'file_search',
  document_search_calls: 'file_search',
  image_generation_calls: 'image_generation',
  mcp_calls: null,
};

function callsIn(counts: CountReader, details: JsonFields): UseCounts | null {
  const uses: Partial<Record<UseName, number>> = {};
  for (const [field, value] of Object.entries(details)) {
    const use = entryOf(COUNTED_CALLS, field);
    if (use === null || (use === undefined && !field.endsWith('_calls'))) continue;
    // Names made up by a supplier would create unlimited series of a metric.
    const name = use === undefined ? '*' : field;
    const count = counts.of(value, `server_side_tool_usage_details.${name}`) ?? 0;
    if (count > 0) add(uses, use ?? 'other_tool', count);
  }
  return isEmpty(uses) ? null : uses;
}

export function usesIn(counts: CountReader, raw: JsonFields): UseCounts | null {
  if (isRecord(raw.server_side_tool_usage_details))
    return callsIn(counts, raw.server_side_tool_usage_details);
  const tools = counts.detailsIn(raw.server_tool_use, 'server_tool_use');
  const searches =
    counts.of(tools.web_search_requests, 'server_tool_use.web_search_requests') ??
    counts.of(raw.num_search_queries, 'num_search_queries') ??
    counts.of(raw.num_sources_used, 'num_sources_used') ??
    0;
  const fetches = counts.of(tools.web_fetch_requests, 'server_tool_use.web_fetch_requests') ?? 0;
  if (searches + fetches === 0) return null;
  return {
    ...(searches > 0 ? { web_search: searches } : {}),
    ...(fetches > 0 ? { url_fetch: fetches } : {}),
  };
}

const isEmpty = (uses: UseCounts): boolean => Object.keys(uses).length === 0;
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const countIn = (value: unknown, fallback: number): number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_USES ? value : fallback;

/** A higher limit would effectively be unlimited. */
const MAX_USES = 10_000;

function add(uses: Partial<Record<UseName, number>>, name: UseName, count: number): void {
  uses[name] = (uses[name] ?? 0) + count;
}
