import { createHash } from 'node:crypto';
import { type NamedTool, type ToolReference, type ToolUseBlock } from './request';

/** A supplier's tool call means this to the caller. */
export interface ToolOrigin {
  readonly name: string;
  readonly namespace?: string;
  readonly custom?: boolean;
  readonly item?: string;
}

const originOf = (tool: NamedTool): ToolOrigin => ({
  name: tool.name,
  custom: tool.kind === 'custom',
  ...(tool.kind === 'function' && tool.item !== undefined && { item: tool.item }),
});

const notInNames = /[^a-zA-Z0-9_-]/g;
const HASH_LENGTH = 8;

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);

/**
 * Maps tool names to names that the target accepts, and back. An accepted name stays; namespaces are joined with two
 * underscores; a name that is too long, has other letters or is taken gets a hash. The mapping is the same in every
 * turn, for prompt caches and the history.
 */
export class ToolNames {
  private readonly outward = new Map<string, string>();
  private readonly origins = new Map<string, ToolOrigin>();

  constructor(
    private readonly longest: number,
    tools: readonly NamedTool[] = [],
    /** The target has tools that take plain text. */
    private readonly keepsCustom = false,
  ) {
    // Names that fit are given first, so that no derived name takes one of them away.
    const plain = (tool: NamedTool): boolean => tool.namespace === undefined && this.fits(tool.name);
    for (const tool of tools) if (plain(tool)) this.nameOf(originOf(tool));
    for (const tool of tools) {
      if (!plain(tool)) {
        this.nameOf({ ...originOf(tool), namespace: tool.namespace?.name });
      }
    }
  }

  nameOf(tool: ToolReference | ToolUseBlock | ToolOrigin): string {
    const { name, namespace, custom } = tool;
    const key = JSON.stringify([namespace ?? null, name]);
    const known = this.outward.get(key);
    if (known !== undefined) return known;
    const wanted = namespace === undefined ? name : `${namespace}__${name}`;
    const given = this.fits(wanted) && !this.origins.has(wanted) ? wanted : this.derived(wanted, key);
    this.outward.set(key, given);
    const item = 'item' in tool && typeof tool.item === 'string' ? { item: tool.item } : {};
    const isCustom = custom && !this.keepsCustom ? { custom } : {};
    this.origins.set(given, { name, namespace, ...isCustom, ...item });
    return given;
  }

  originOf(given: string): ToolOrigin {
    return this.origins.get(given) ?? { name: given };
  }

  /** Every name reads the same on both sides. */
  get isPlain(): boolean {
    return [...this.origins].every(
      ([given, { name, custom, item }]) => given === name && custom !== true && item === undefined,
    );
  }

  private fits(name: string): boolean {
    return name.length > 0 && name.length <= this.longest && name.search(notInNames) === -1;
  }

  private derived(wanted: string, key: string): string {
    const readable = wanted.replace(notInNames, '_').slice(0, this.longest - HASH_LENGTH - 1);
    return `${readable}_${hash(key)}`;
  }
}

/** A target takes such ids of calls, and any other one is replaced. */
export interface IdRule {
  readonly fits: RegExp;
  readonly derived: (id: string, turn: number) => string;
}

/** It is the rule of the messages dialect. */
const plainIds: IdRule = {
  fits: /^[a-zA-Z0-9_-]+$/,
  derived: (id, turn) => {
    const plain = plainIds.fits.test(id) ? id : `tool_${hash(id)}`;
    return turn === 1 ? plain : `${plain}_${turn}`;
  },
};

/** It is the rule of responses: https://developers.openai.com/api/docs/api-reference/responses/create (2026-11-26). */
export const shortIds: IdRule = {
  fits: /^.{1,64}$/s,
  derived: (id, turn) =>
    turn === 1 && shortIds.fits.test(id) ? id : `call_${hash(JSON.stringify([id, turn]))}`,
};

/** Mistral takes nine letters or digits. */
export const nineLetterIds: IdRule = {
  fits: /^[a-zA-Z0-9]{9}$/,
  derived: (id, turn) =>
    turn === 1 && nineLetterIds.fits.test(id) ? id : hash(JSON.stringify([id, turn])).padEnd(9, 'x'),
};

/** Identifiers of tool calls for a target that is choosy: only what it takes, never the same twice. */
export class ToolIds {
  /** They belong to the latest turn: where an id stands twice, results come in the order of their calls. */
  private readonly open = new Map<string, string[]>();
  private readonly latest = new Map<string, string>();
  private readonly taken = new Set<string>();

  constructor(private readonly rule: IdRule = plainIds) {}

  /** Results that follow are of the calls that follow. */
  beginTurn(): void {
    this.open.clear();
  }

  forCall(id: string): string {
    let given = this.rule.derived(id, 1);
    for (let turn = 2; this.taken.has(given); turn++) given = this.rule.derived(id, turn);
    this.taken.add(given);
    this.latest.set(id, given);
    this.open.set(id, [...(this.open.get(id) ?? []), given]);
    return given;
  }

  forResult(id: string): string {
    const given = this.open.get(id) ?? [];
    return (given.length > 1 ? given.shift() : undefined) ?? this.latest.get(id) ?? this.rule.derived(id, 1);
  }
}
