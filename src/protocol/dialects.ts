import { formatEvent, ssePing } from '../kernel';
import { type Dialect, type DialectName } from './canonical';
import { checkChatAnswer } from './chat/check-answer';
import { decodeChatAnswer } from './chat/decode-answer';
import { decodeChatRequest } from './chat/decode-request';
import { encodeChatAnswer } from './chat/encode-answer';
import { encodeChatRequest } from './chat/encode-request';
import { readChatError } from './chat/errors';
import { measureChat } from './chat/measure';
import { ChatStreamDecoder } from './chat/stream-decoder';
import { ChatStreamEncoder } from './chat/stream-encoder';
import { ChatStreamWatcher } from './chat/stream-watcher';
import { findChatUsage, normaliseChatUsage } from './chat/usage';
import { writtenInChat } from './chat/written';
import { checkMessagesAnswer } from './messages/check-answer';
import { decodeMessagesAnswer } from './messages/decode-answer';
import { decodeMessagesRequest } from './messages/decode-request';
import { encodeMessagesAnswer } from './messages/encode-answer';
import { encodeMessagesRequest } from './messages/encode-request';
import { readMessagesError } from './messages/errors';
import { mendMessages } from './messages/mend-history';
import { measureMessages } from './messages/measure';
import { MessagesStreamDecoder } from './messages/stream-decoder';
import { MessagesStreamEncoder } from './messages/stream-encoder';
import { MessagesStreamWatcher } from './messages/stream-watcher';
import { findMessagesUsage, normaliseMessagesUsage } from './messages/usage';
import { writtenInMessages } from './messages/written';
import { checkResponsesAnswer } from './responses/check-answer';
import { decodeResponsesAnswer } from './responses/decode-answer';
import { decodeResponsesRequest } from './responses/decode-request';
import { encodeResponsesAnswer } from './responses/encode-answer';
import { encodeResponsesRequest } from './responses/encode-request';
import { readResponsesError } from './responses/errors';
import { mendResponses } from './responses/mend-history';
import { measureResponses } from './responses/measure';
import { ResponsesStreamDecoder } from './responses/stream-decoder';
import { readFinish } from './responses/finish';
import { ResponsesStreamEncoder } from './responses/stream-encoder';
import { ResponsesStreamWatcher } from './responses/stream-watcher';
import { findResponsesUsage, normaliseResponsesUsage } from './responses/usage';
import { writtenInResponses } from './responses/written';
import {
  callsInChat,
  callsInMessages,
  callsInResponses,
  sealsInMessages,
  sealsInResponses,
} from './tool-calls';
import { pick } from './usage';

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const chatFinish = (answer: unknown): string | null => {
  const choices = pick(answer, 'choices');
  return textOrNull(pick(Array.isArray(choices) ? choices[0] : undefined, 'finish_reason'));
};

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  chat: {
    name: 'chat',
    ping: ssePing,
    written: writtenInChat,
    decodeRequest: decodeChatRequest,
    measureRequest: measureChat,
    encodeRequest: encodeChatRequest,
    streamDecoder: (options) => new ChatStreamDecoder(options),
    streamEncoder: (options) => new ChatStreamEncoder(options),
    streamWatcher: (hasManyAnswers) => new ChatStreamWatcher(hasManyAnswers),
    usageIn: (answer) => normaliseChatUsage(findChatUsage(answer)),
    finishReasonIn: chatFinish,
    callsIn: callsInChat,
    sealsIn: () => [],
    mendRequest: () => null,
    checkAnswer: checkChatAnswer,
    decodeAnswer: decodeChatAnswer,
    encodeAnswer: encodeChatAnswer,
    readError: readChatError,
  },
  messages: {
    name: 'messages',
    ping: formatEvent({ event: 'ping', data: '{"type":"ping"}' }),
    written: writtenInMessages,
    decodeRequest: decodeMessagesRequest,
    measureRequest: measureMessages,
    encodeRequest: encodeMessagesRequest,
    streamDecoder: (options) => new MessagesStreamDecoder(options),
    streamEncoder: (options) => new MessagesStreamEncoder(options),
    streamWatcher: () => new MessagesStreamWatcher('messages'),
    usageIn: (answer) => normaliseMessagesUsage(findMessagesUsage(answer)),
    finishReasonIn: (answer) => textOrNull(pick(answer, 'stop_reason')),
    callsIn: callsInMessages,
    sealsIn: sealsInMessages,
    mendRequest: mendMessages,
    checkAnswer: checkMessagesAnswer,
    decodeAnswer: decodeMessagesAnswer,
    encodeAnswer: encodeMessagesAnswer,
    readError: readMessagesError,
  },
  responses: {
    name: 'responses',
    ping: ssePing,
    written: writtenInResponses,
    decodeRequest: decodeResponsesRequest,
    measureRequest: measureResponses,
    encodeRequest: encodeResponsesRequest,
    streamDecoder: (options) => new ResponsesStreamDecoder(options),
    streamEncoder: (options) => new ResponsesStreamEncoder(options),
    streamWatcher: () => new ResponsesStreamWatcher('responses'),
    usageIn: (answer) => normaliseResponsesUsage(findResponsesUsage(answer)),
    finishReasonIn: (answer) => readFinish(answer).raw,
    callsIn: callsInResponses,
    sealsIn: sealsInResponses,
    mendRequest: mendResponses,
    checkAnswer: checkResponsesAnswer,
    decodeAnswer: decodeResponsesAnswer,
    encodeAnswer: encodeResponsesAnswer,
    readError: readResponsesError,
  },
};
