import type { JsonObject } from '../canonical';
import { isGiven, isRecord, listOf, Measure, type RequestMeasure } from '../measure/measure';

/** Suppliers of this dialect search the web before they answer where one of these fields asks for it. */
const SEARCHING = ['web_search_options', 'search_parameters', 'plugins'];

export function measureChat(body: Readonly<JsonObject>): RequestMeasure {
  const measure = new Measure();
  for (const message of listOf(body.messages)) {
    if (!isRecord(message)) continue;
    measure.later(message.content);
    // The sound of an earlier answer, by its id.
    if (isGiven(message.audio)) measure.reference();
  }
  measure.readParts(readPart);
  listOf(body.tools).forEach((tool, index) => {
    measure.tools += 1;
    const type = isRecord(tool) ? (tool.type ?? 'function') : 'function';
    if (type !== 'function' && type !== 'custom') measure.serverTool(type, index);
  });
  measure.tools += listOf(body.functions).length;
  for (const name of SEARCHING) if (isGiven(body[name])) measure.serverTool(name, null);
  // Rejected predicted tokens are billed as output, despite the caller's limit.
  if (isGiven(body.prediction)) measure.predictedTokens = Buffer.byteLength(JSON.stringify(body.prediction));
  return measure;
}

function readPart(part: JsonObject, measure: Measure): void {
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
      if (isRecord(image)) return measure.pictureAt(image.url, image.detail);
      return measure.pictureAt(image, part.detail);
    }
    case 'input_audio':
      return measure.recording(isRecord(part.input_audio) ? part.input_audio.data : undefined);
    case 'file':
      return measure.document(isRecord(part.file) ? part.file.file_data : undefined);
    default:
      return measure.reference();
  }
}
