import type { JsonObject } from '../canonical';
import { isPresent, isRecord, listOf, MeasureCollector, type RequestMeasure } from '../measure/measure';

/** Fields with which suppliers of this dialect search the web before they respond. */
const SEARCH_FIELDS = ['web_search_options', 'search_parameters', 'plugins'];

export function measureChat(body: Readonly<JsonObject>): RequestMeasure {
  const measure = new MeasureCollector();
  for (const message of listOf(body.messages)) {
    if (!isRecord(message)) continue;
    measure.enqueue(message.content);
    // Audio of an earlier response, by its id.
    if (isPresent(message.audio)) measure.addReference();
  }
  measure.readParts(readPart);
  listOf(body.tools).forEach((tool, index) => {
    measure.tools += 1;
    const type = isRecord(tool) ? (tool.type ?? 'function') : 'function';
    if (type !== 'function' && type !== 'custom') measure.addServerTool(type, index);
  });
  measure.tools += listOf(body.functions).length;
  for (const name of SEARCH_FIELDS) if (isPresent(body[name])) measure.addServerTool(name, null);
  // Rejected predicted tokens are billed as output, despite the caller's limit.
  if (isPresent(body.prediction))
    measure.predictedTokens = Buffer.byteLength(JSON.stringify(body.prediction));
  return measure;
}

function readPart(part: JsonObject, measure: MeasureCollector): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'input_text':
    case 'output_text':
    case 'thinking':
      return;
    case 'image_url':
    case 'input_image': {
      const image = part.image_url;
      if (isRecord(image)) return measure.addPictureUrl(image.url, image.detail);
      return measure.addPictureUrl(image, part.detail);
    }
    case 'input_audio':
      return measure.addRecording(isRecord(part.input_audio) ? part.input_audio.data : undefined);
    case 'file':
      return measure.addDocument(isRecord(part.file) ? part.file.file_data : undefined);
    default:
      return measure.addReference();
  }
}
