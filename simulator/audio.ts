import { errorReply, type Complaint } from './complaint';
import { hashText } from './hash';
import { textOf, type JsonObject } from './json';
import { secondsOf, sounds } from './media';
import { parseMultipart, type MultipartPart } from './multipart';
import { Directives, words } from './prompt';
import { bytesReply, jsonReply, type Reply } from './reply';
import type { RouteCall, Handler } from './route';
import {
  fieldSet,
  invalidValue,
  missingParameter,
  numberWithin,
  unknownParameter,
  type Check,
} from './strict/strict';
import { checkOpenaiModel } from './strict/strict-chat';
import { distortUsage } from './usage';

const speechFields = fieldSet('model input voice response_format speed instructions stream_format');
const formFields = fieldSet(
  'model file language prompt response_format temperature timestamp_granularities[] include[] chunking_strategy stream',
);
const fileName = /\.(flac|m4a|mp3|mp4|mpeg|mpga|oga|ogg|wav|webm)$/i;
const MAX_FILE_BYTES = 25 * 1024 * 1024;
const MAX_CHARACTERS = 4096;

export const speech: Handler = ({ body, settings }): Reply => {
  const complaint = checkSpeech(body) ?? checkOpenaiModel(body['model'], settings);
  if (complaint) return errorReply('openai', complaint);
  const sound = sounds.get(textOf(body['response_format'] ?? 'mp3'));
  if (sound === undefined) {
    return errorReply(
      'openai',
      invalidValue('response_format', `Supported: ${[...sounds.keys()].join(', ')}.`),
    );
  }
  return bytesReply(sound.contentType, sound.bytes);
};

function checkSpeech(body: JsonObject): Check {
  const input = textOf(body['input']);
  return (
    unknownParameter(body, speechFields) ??
    (input === '' ? missingParameter('input') : undefined) ??
    (textOf(body['voice']) === '' ? missingParameter('voice') : undefined) ??
    (input.length > MAX_CHARACTERS
      ? invalidValue(
          'input',
          `Invalid 'input': string too long. Expected at most ${MAX_CHARACTERS} characters.`,
        )
      : undefined) ??
    numberWithin(body, 'speed', 0.25, 4)
  );
}

export const transcriptions: Handler = (call) => transcribe(call, 'transcribe');
export const translations: Handler = (call) => transcribe(call, 'translate');

function transcribe(call: RouteCall, task: 'transcribe' | 'translate'): Reply {
  const parts = parseMultipart(call.bytes, call.headers['content-type']);
  if (parts === undefined) return errorReply('openai', { message: 'Could not parse multipart form.' });
  const fields = Object.fromEntries(
    parts.filter((part) => part.fileName === undefined).map((part) => [part.name, part.bytes.toString()]),
  );
  const file = parts.find((part) => part.name === 'file' && part.fileName !== undefined);
  const complaint =
    unknownParameter(Object.fromEntries(parts.map((part) => [part.name, true])), formFields) ??
    checkOpenaiModel(fields['model'], call.settings) ??
    checkFile(file);
  if (complaint) return errorReply('openai', complaint);
  const bytes = file?.bytes ?? Buffer.alloc(0);
  const seed = hashText(bytes.toString('latin1', 0, 4096) + bytes.length);
  const directives = new Directives(fields['prompt'] ?? '');
  const text = directives.text('echo') ?? words(seed, 8 + (seed % 8), 'plain').join('');
  return formatTranscript(text, secondsOf(bytes), fields, task, call);
}

function checkFile(file: MultipartPart | undefined): Complaint | undefined {
  if (file === undefined) return missingParameter('file');
  if (file.bytes.length > MAX_FILE_BYTES) {
    return {
      status: 413,
      message: `Maximum content size limit (${MAX_FILE_BYTES}) exceeded (${file.bytes.length} bytes read)`,
    };
  }
  if (file.bytes.length === 0 || !fileName.test(file.fileName ?? '')) {
    return invalidValue(
      'file',
      'Invalid file format. Supported formats: flac, m4a, mp3, mp4, mpeg, mpga, oga, ogg, wav, webm',
    );
  }
  return undefined;
}

function formatTranscript(
  text: string,
  seconds: number,
  fields: Readonly<Record<string, string>>,
  task: string,
  { usageVariant }: RouteCall,
): Reply {
  const usage = distortUsage({ type: 'duration', seconds: Math.max(1, Math.ceil(seconds)) }, usageVariant);
  const segment = { id: 0, start: 0, end: seconds, text, tokens: [], avg_logprob: -0.1, no_speech_prob: 0 };
  switch (fields['response_format'] ?? 'json') {
    case 'json':
      return jsonReply({ text, usage });
    case 'verbose_json': {
      const language = task === 'translate' ? 'english' : (fields['language'] ?? 'english');
      return jsonReply({ task, language, duration: seconds, text, segments: [segment], usage });
    }
    case 'text':
      return bytesReply('text/plain; charset=utf-8', Buffer.from(`${text}\n`));
    case 'srt':
      return bytesReply(
        'text/plain; charset=utf-8',
        Buffer.from(`1\n${formatClock(0, ',')} --> ${formatClock(seconds, ',')}\n${text}\n\n`),
      );
    case 'vtt':
      return bytesReply(
        'text/plain; charset=utf-8',
        Buffer.from(`WEBVTT\n\n${formatClock(0, '.')} --> ${formatClock(seconds, '.')}\n${text}\n\n`),
      );
    default:
      return errorReply(
        'openai',
        invalidValue('response_format', 'Supported: json, text, srt, verbose_json, vtt.'),
      );
  }
}

function formatClock(seconds: number, point: string): string {
  return new Date(seconds * 1000).toISOString().slice(11, 23).replace('.', point);
}
