import { formatEvent, ssePing } from '../kernel';
import { type Dialect, type DialectName } from './canonical';
import { checkChatResponse } from './chat/check-response';
import { decodeChatResponse } from './chat/decode-response';
import { decodeChatRequest } from './chat/decode-request';
import { encodeChatResponse } from './chat/encode-response';
import { encodeChatRequest } from './chat/encode-request';
import { readChatError } from './chat/errors';
import { measureChat } from './chat/measure';
import { ChatStreamDecoder } from './chat/stream-decoder';
import { ChatStreamEncoder } from './chat/stream-encoder';
import { ChatStreamWatcher } from './chat/stream-watcher';
import { findChatUsage, normaliseChatUsage } from './chat/usage';
import { chatWrittenFields } from './chat/written-fields';
import { checkMessagesResponse } from './messages/check-response';
import { decodeMessagesResponse } from './messages/decode-response';
import { decodeMessagesRequest } from './messages/decode-request';
import { encodeMessagesResponse } from './messages/encode-response';
import { encodeMessagesRequest } from './messages/encode-request';
import { readMessagesError } from './messages/errors';
import { repairMessagesRequest } from './messages/repair-history';
import { measureMessages } from './messages/measure';
import { MessagesStreamDecoder } from './messages/stream-decoder';
import { MessagesStreamEncoder } from './messages/stream-encoder';
import { MessagesStreamWatcher } from './messages/stream-watcher';
import { findMessagesUsage, normaliseMessagesUsage } from './messages/usage';
import { messagesWrittenFields } from './messages/written-fields';
import { checkResponsesResponse } from './responses/check-response';
import { decodeResponsesResponse } from './responses/decode-response';
import { decodeResponsesRequest } from './responses/decode-request';
import { encodeResponsesResponse } from './responses/encode-response';
import { encodeResponsesRequest } from './responses/encode-request';
import { readResponsesError } from './responses/errors';
import { repairResponsesRequest } from './responses/repair-history';
import { measureResponses } from './responses/measure';
import { ResponsesStreamDecoder } from './responses/stream-decoder';
import { readFinish } from './responses/finish';
import { ResponsesStreamEncoder } from './responses/stream-encoder';
import { ResponsesStreamWatcher } from './responses/stream-watcher';
import { findResponsesUsage, normaliseResponsesUsage } from './responses/usage';
import { responsesWrittenFields } from './responses/written-fields';
import {
  callsInChat,
  callsInMessages,
  callsInResponses,
  sealsInMessages,
  sealsInResponses,
} from './tool-calls';
import { pick } from './usage';

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const chatFinish = (response: unknown): string | null => {
  const choices = pick(response, 'choices');
  return textOrNull(pick(Array.isArray(choices) ? choices[0] : undefined, 'finish_reason'));
};

export const dialects: Readonly<Record<DialectName, Dialect>> = {
  chat: {
    name: 'chat',
    ping: ssePing,
    written: chatWrittenFields,
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
    repairRequest: () => null,
    checkAnswer: checkChatResponse,
    decodeAnswer: decodeChatResponse,
    encodeAnswer: encodeChatResponse,
    readError: readChatError,
  },
  messages: {
    name: 'messages',
    ping: formatEvent({ event: 'ping', data: '{"type":"ping"}' }),
    written: messagesWrittenFields,
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
    repairRequest: repairMessagesRequest,
    checkAnswer: checkMessagesResponse,
    decodeAnswer: decodeMessagesResponse,
    encodeAnswer: encodeMessagesResponse,
    readError: readMessagesError,
  },
  responses: {
    name: 'responses',
    ping: ssePing,
    written: responsesWrittenFields,
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
    repairRequest: repairResponsesRequest,
    checkAnswer: checkResponsesResponse,
    decodeAnswer: decodeResponsesResponse,
    encodeAnswer: encodeResponsesResponse,
    readError: readResponsesError,
  },
};
