import { speech, transcriptions, translations } from './audio';
import { chatCompletions } from './dialects/chat';
import { completions } from './completions';
import { embeddings } from './embeddings';
import { generateContent, isGeminiPath } from './dialects/gemini';
import { imageGenerations } from './images';
import { countTokensOfMessages, messages } from './dialects/messages';
import { modelList, oneModel } from './models';
import { moderations } from './moderations';
import { rerankV1, rerankV2 } from './rerank';
import { responses } from './dialects/responses';
import type { Handler, Route } from './route';

function openai(handler: Handler, media: Route['media'] = 'json'): Route {
  return { method: 'POST', style: 'openai', media, handler };
}

const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/v1/chat/completions', { ...openai(chatCompletions), wire: 'chat' }],
  ['/v1/completions', openai(completions)],
  ['/v1/responses', { ...openai(responses), stores: true, wire: 'responses' }],
  ['/v1/embeddings', openai(embeddings)],
  ['/v1/rerank', openai(rerankV1)],
  ['/v2/rerank', openai(rerankV2)],
  ['/v1/audio/speech', openai(speech)],
  ['/v1/audio/transcriptions', openai(transcriptions, 'multipart')],
  ['/v1/audio/translations', openai(translations, 'multipart')],
  ['/v1/moderations', openai(moderations)],
  ['/v1/images/generations', openai(imageGenerations)],
  ['/v1/messages', { method: 'POST', style: 'messages', media: 'json', handler: messages, wire: 'messages' }],
  [
    '/v1/messages/count_tokens',
    { method: 'POST', style: 'messages', media: 'json', handler: countTokensOfMessages },
  ],
  ['/v1/models', { method: 'GET', style: 'either', media: 'none', handler: modelList }],
]);
const geminiRoute: Route = {
  method: 'POST',
  style: 'gemini',
  media: 'json',
  handler: generateContent,
  wire: 'gemini',
};
const modelRoute: Route = { method: 'GET', style: 'either', media: 'none', handler: oneModel };

export function routeOf(path: string): Route | undefined {
  if (isGeminiPath(path)) return geminiRoute;
  return routes.get(path) ?? (path.startsWith('/v1/models/') ? modelRoute : undefined);
}
