import { errorReply } from './complaint';
import { jsonReply, type Reply } from './reply';
import type { RouteCall, Handler } from './route';
import { contextOf, createdAt, modelExists } from './settings';
import { claudeModels, type ClaudeModel, openaiModels, vendorModel } from './vendors';

const listedModels = [
  'small',
  'large',
  'reason',
  '8k',
  'embed',
  'rerank',
  'speech',
  'transcribe',
  'image',
  'moderation',
];
const messagesDate = new Date(createdAt * 1000).toISOString();

/** https://platform.claude.com/docs/en/api/models-list (read on 26 November 2026). */
const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 1_000;

/** Serves two response shapes; the version header selects the API. */
export const modelList: Handler = (call): Reply => {
  const ownModels = listedModels.map((name) => `${call.settings.modelPrefix}${name}`);
  if (isMessagesRequest(call)) return pageOf([...ownModels, ...datedIds], call);
  const ids = [...ownModels, ...openaiModels.map(({ id }) => id)];
  return jsonReply({ object: 'list', data: ids.map(openaiModel) });
};

export const oneModel: Handler = (call): Reply => {
  const id = decodeURIComponent(call.path.slice('/v1/models/'.length));
  const messages = isMessagesRequest(call);
  if (!modelExists(id, call.settings)) {
    return errorReply(messages ? 'messages' : 'openai', {
      status: 404,
      message: messages ? `model: ${id}` : `The model '${id}' does not exist`,
      code: 'model_not_found',
      param: 'model',
    });
  }
  return jsonReply(messages ? messagesModel(datedIdOf(id), call) : openaiModel(id));
};

function isMessagesRequest({ headers }: RouteCall): boolean {
  return headers['anthropic-version'] !== undefined;
}

function openaiModel(id: string): object {
  return { id, object: 'model', created: createdAt, owned_by: vendorModel(id)?.vendor ?? 'simulator' };
}

const isDatedFrom = (id: string, alias: string): boolean =>
  id.startsWith(alias) && /^-\d{8}$/.test(id.slice(alias.length));

/** An alias is not listed, and responses name the model it stands for. */
const datedIdOf = (alias: string): string =>
  claudeModels.find(({ id }) => isDatedFrom(id, alias))?.id ?? alias;
const datedIds = claudeModels.map(({ id }) => id).filter((id) => datedIdOf(id) === id);

/** `after_id` and `before_id` are cursors; a page has up to `limit` models after or before them. */
function pageOf(ids: readonly string[], call: RouteCall): Reply {
  const { query } = call;
  const limit = Number(query.get('limit') ?? DEFAULT_PAGE_SIZE);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE_SIZE)
    return refusedQuery(`limit: Input should be between 1 and ${MAX_PAGE_SIZE}`);
  const [after, before] = [query.get('after_id'), query.get('before_id')];
  if (after !== null && before !== null)
    return refusedQuery('after_id and before_id cannot both be specified');
  const cursorIndex = ids.indexOf(after ?? before ?? '');
  if (cursorIndex < 0 && (after ?? before) !== null) return refusedQuery('invalid pagination cursor');
  const remainingIds = before === null ? ids.slice(cursorIndex + 1) : ids.slice(0, cursorIndex);
  const page = before === null ? remainingIds.slice(0, limit) : remainingIds.slice(-limit);
  return jsonReply({
    data: page.map((id) => messagesModel(id, call)),
    has_more: remainingIds.length > page.length,
    first_id: page[0] ?? null,
    last_id: page.at(-1) ?? null,
  });
}

const refusedQuery = (message: string): Reply => errorReply('messages', { status: 400, message });

function messagesModel(id: string, { settings }: RouteCall): object {
  const knownModel = vendorModel(id);
  const claude = knownModel?.vendor === 'anthropic' ? knownModel : undefined;
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: messagesDate,
    max_input_tokens: claude?.window ?? contextOf(id, settings),
    max_tokens: claude?.maxOutputTokens ?? 128_000,
    capabilities: claude === undefined ? null : capabilitiesOf(claude),
  };
}

const support = (supported: boolean): object => ({ supported });

/** Names from `ModelCapabilities` in src/resources/models.ts of anthropic-sdk-typescript. */
function capabilitiesOf({ thinking, efforts }: ClaudeModel): object {
  const levels = ['low', 'medium', 'high', 'xhigh', 'max'];
  return {
    batch: support(true),
    citations: support(true),
    code_execution: support(true),
    context_management: {
      supported: true,
      clear_thinking_20251015: support(true),
      clear_tool_uses_20250919: support(true),
      compact_20260112: support(true),
    },
    effort: {
      supported: efforts.length > 0,
      ...Object.fromEntries(levels.map((level) => [level, support(efforts.includes(level))])),
    },
    image_input: support(true),
    pdf_input: support(true),
    structured_outputs: support(true),
    thinking: {
      supported: true,
      types: {
        adaptive: support(thinking.includes('adaptive')),
        enabled: support(thinking.includes('enabled')),
      },
    },
  };
}
