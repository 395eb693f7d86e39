import { errorReply } from './complaint';
import { jsonReply, type Reply } from './reply';
import type { Call, Handler } from './route';
import { contextOf, createdAt, modelExists } from './settings';

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

/** One path, two shapes: the version header tells which family asks. */
export const modelList: Handler = (call): Reply => {
  const ids = listed.map((name) => `${call.settings.modelPrefix}${name}`);
  if (!asksForMessages(call)) {
    return jsonReply({ object: 'list', data: ids.map(openaiModel) });
  }
  const data = ids.map((id) => messagesModel(id, call));
  return jsonReply({ data, has_more: false, first_id: ids[0], last_id: ids.at(-1) });
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
  return jsonReply(messages ? messagesModel(id, call) : openaiModel(id));
};

function asksForMessages({ headers }: Call): boolean {
  return headers['anthropic-version'] !== undefined;
}

function openaiModel(id: string): object {
  return { id, object: 'model', created: createdAt, owned_by: 'simulator' };
}

function messagesModel(id: string, { settings }: Call): object {
  const limits = { max_input_tokens: contextOf(id, settings), max_tokens: 128_000 };
  return { type: 'model', id, display_name: id, created_at: messagesDate, ...limits };
}
