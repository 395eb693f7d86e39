import { errorReply } from './complaint';
import { jsonReply, type Reply } from './reply';
import type { Call, Handler } from './route';
import { contextOf, createdAt, modelExists } from './settings';
import { claudeModels, type ClaudeModel, openaiModels, vendorModel } from './vendors';

const listed = [
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
const USUAL_PAGE = 20;
const LARGEST_PAGE = 1_000;

/** One path, two shapes: the version header tells which family asks. */
export const modelList: Handler = (call): Reply => {
  const own = listed.map((name) => `${call.settings.modelPrefix}${name}`);
  if (asksForMessages(call)) return pageOf([...own, ...datedIds], call);
  const ids = [...own, ...openaiModels.map(({ id }) => id)];
  return jsonReply({ object: 'list', data: ids.map(openaiModel) });
};

export const oneModel: Handler = (call): Reply => {
  const id = decodeURIComponent(call.path.slice('/v1/models/'.length));
  const messages = asksForMessages(call);
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

function asksForMessages({ headers }: Call): boolean {
  return headers['anthropic-version'] !== undefined;
}

function openaiModel(id: string): object {
  return { id, object: 'model', created: createdAt, owned_by: vendorModel(id)?.vendor ?? 'simulator' };
}

const isDatedFrom = (id: string, alias: string): boolean =>
  id.startsWith(alias) && /^-\d{8}$/.test(id.slice(alias.length));

/** An alias is not listed, and is answered by the model that it stands for. */
const datedIdOf = (alias: string): string =>
  claudeModels.find(({ id }) => isDatedFrom(id, alias))?.id ?? alias;
const datedIds = claudeModels.map(({ id }) => id).filter((id) => datedIdOf(id) === id);

/** `after_id` and `before_id` are cursors; a page holds `limit` of the models behind or before them. */
function pageOf(ids: readonly string[], call: Call): Reply {
  const { query } = call;
  const limit = Number(query.get('limit') ?? USUAL_PAGE);
  if (!Number.isInteger(limit) || limit < 1 || limit > LARGEST_PAGE)
    return refusedQuery(`limit: Input should be between 1 and ${LARGEST_PAGE}`);
  const [after, before] = [query.get('after_id'), query.get('before_id')];
  if (after !== null && before !== null)
    return refusedQuery('after_id and before_id cannot both be specified');
  const place = ids.indexOf(after ?? before ?? '');
  if (place < 0 && (after ?? before) !== null) return refusedQuery('invalid pagination cursor');
  const rest = before === null ? ids.slice(place + 1) : ids.slice(0, place);
  const page = before === null ? rest.slice(0, limit) : rest.slice(-limit);
  return jsonReply({
    data: page.map((id) => messagesModel(id, call)),
    has_more: rest.length > page.length,
    first_id: page[0] ?? null,
    last_id: page.at(-1) ?? null,
  });
}

const refusedQuery = (message: string): Reply => errorReply('messages', { status: 400, message });

function messagesModel(id: string, { settings }: Call): object {
  const known = vendorModel(id);
  const claude = known?.vendor === 'anthropic' ? known : undefined;
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: messagesDate,
    max_input_tokens: claude?.window ?? contextOf(id, settings),
    max_tokens: claude?.mostOutput ?? 128_000,
    capabilities: claude === undefined ? null : capabilitiesOf(claude),
  };
}

const support = (supported: boolean): object => ({ supported });

/** The names are those of `ModelCapabilities` in src/resources/models.ts of anthropic-sdk-typescript. */
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
