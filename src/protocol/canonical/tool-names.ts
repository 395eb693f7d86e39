import { createHash } from 'node:crypto';
import { type NamedTool, type ToolReference, type ToolUseBlock } from './request';

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

const invalidCharacters = /[^a-zA-Z0-9_-]/g;
const HASH_LENGTH = 8;

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);

/**
 * Maps tool names to names that the target accepts, and back; the mapping is stable across turns, for prompt caches.
 * Namespaces are joined by two underscores; names that are too long, invalid or taken get a hash.
 */
export class ToolNames {
  private readonly outward = new Map<string, string>();
  private readonly origins = new Map<string, ToolOrigin>();

  constructor(
    private readonly maxLength: number,
    tools: readonly NamedTool[] = [],
    private readonly keepsCustom = false,
  ) {
    // Valid names are assigned first, so that no derived name takes one of them.
    const plain = (tool: NamedTool): boolean => tool.namespace === undefined && this.isValid(tool.name);
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
    const existing = this.outward.get(key);
    if (existing !== undefined) return existing;
    const preferred = namespace === undefined ? name : `${namespace}__${name}`;
    const targetName =
      this.isValid(preferred) && !this.origins.has(preferred) ? preferred : this.deriveName(preferred, key);
    this.outward.set(key, targetName);
    const item = 'item' in tool && typeof tool.item === 'string' ? { item: tool.item } : {};
    const isCustom = custom && !this.keepsCustom ? { custom } : {};
    this.origins.set(targetName, { name, namespace, ...isCustom, ...item });
    return targetName;
  }

  originOf(targetName: string): ToolOrigin {
    return this.origins.get(targetName) ?? { name: targetName };
  }

  /** Whether every name is the same on both sides. */
  get isPlain(): boolean {
    return [...this.origins].every(
      ([targetName, { name, custom, item }]) => targetName === name && custom !== true && item === undefined,
    );
  }

  private isValid(name: string): boolean {
    return name.length > 0 && name.length <= this.maxLength && name.search(invalidCharacters) === -1;
  }

  private deriveName(preferred: string, key: string): string {
    const readable = preferred.replace(invalidCharacters, '_').slice(0, this.maxLength - HASH_LENGTH - 1);
    return `${readable}_${hash(key)}`;
  }
}

export interface IdRule {
  readonly pattern: RegExp;
  readonly derive: (id: string, turn: number) => string;
}

const plainIds: IdRule = {
  pattern: /^[a-zA-Z0-9_-]+$/,
  derive: (id, turn) => {
    const plain = plainIds.pattern.test(id) ? id : `tool_${hash(id)}`;
    return turn === 1 ? plain : `${plain}_${turn}`;
  },
};

/** Rule of responses: https://developers.openai.com/api/docs/api-reference/responses/create (2026-11-26). */
export const shortIds: IdRule = {
  pattern: /^.{1,64}$/s,
  derive: (id, turn) =>
    turn === 1 && shortIds.pattern.test(id) ? id : `call_${hash(JSON.stringify([id, turn]))}`,
};

/** Mistral requires nine letters or digits. */
export const nineLetterIds: IdRule = {
  pattern: /^[a-zA-Z0-9]{9}$/,
  derive: (id, turn) =>
    turn === 1 && nineLetterIds.pattern.test(id) ? id : hash(JSON.stringify([id, turn])).padEnd(9, 'x'),
};

export class ToolIds {
  /** Open calls of the latest turn. If an id occurs twice, results are assigned in the order of the calls. */
  private readonly openCalls = new Map<string, string[]>();
  private readonly latest = new Map<string, string>();
  private readonly usedIds = new Set<string>();

  constructor(private readonly rule: IdRule = plainIds) {}

  /** Starts a turn: the following results belong to the following calls. */
  beginTurn(): void {
    this.openCalls.clear();
  }

  forCall(id: string): string {
    let targetId = this.rule.derive(id, 1);
    for (let turn = 2; this.usedIds.has(targetId); turn++) targetId = this.rule.derive(id, turn);
    this.usedIds.add(targetId);
    this.latest.set(id, targetId);
    this.openCalls.set(id, [...(this.openCalls.get(id) ?? []), targetId]);
    return targetId;
  }

  forResult(id: string): string {
    const openIds = this.openCalls.get(id) ?? [];
    return (
      (openIds.length > 1 ? openIds.shift() : undefined) ?? this.latest.get(id) ?? this.rule.derive(id, 1)
    );
  }
}
