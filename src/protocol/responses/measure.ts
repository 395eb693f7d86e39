import type { JsonObject } from '../canonical';
import { isPresent, isRecord, listOf, MeasureCollector, type RequestMeasure } from '../measure/measure';

/** Content stored by the supplier, which is read again at the caller's expense. */
const STORED_REFERENCES = ['previous_response_id', 'conversation', 'prompt'];
const runByCaller = new Set(['local_shell', 'apply_patch', 'computer', 'computer_use_preview']);

export function measureResponses(body: Readonly<JsonObject>): RequestMeasure {
  const measure = new MeasureCollector();
  measure.enqueue(body.input);
  measure.enqueue(body.instructions);
  measure.readParts(readPart);
  for (const name of STORED_REFERENCES) if (isPresent(body[name])) measure.addReference();
  listOf(body.tools).forEach((tool, index) => readTool(tool, index, measure));
  measure.compacts ||= listOf(body.context_management).length > 0;
  if (typeof body.max_tool_calls === 'number') measure.maxToolCalls = body.max_tool_calls;
  return measure;
}

function readTool(tool: unknown, index: number | null, measure: MeasureCollector): void {
  measure.tools += 1;
  if (!isRecord(tool)) return;
  const { type, environment, execution } = tool;
  if (type === 'function' || type === 'custom' || type === 'namespace') return;
  measure.vendorTools += 1;
  if (typeof type === 'string' && runByCaller.has(type)) return;
  const isOwnShell = type === 'shell' && isRecord(environment) && environment.type === 'local';
  const isOwnSearch = type === 'tool_search' && execution === 'client';
  if (!isOwnShell && !isOwnSearch) measure.addServerTool(type, index);
}

/** Reads items of the conversation and the parts within them; no type has a different meaning in the two places. */
function readPart(part: JsonObject, measure: MeasureCollector): void {
  switch (part.type) {
    case undefined:
    case 'message':
      return measure.enqueue(part.content);
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'computer_call_output':
      return measure.enqueue(part.output);
    case 'input_image':
    case 'computer_screenshot':
      return measure.addPictureUrl(part.image_url, part.detail);
    case 'image_generation_call':
      return typeof part.result === 'string' ? measure.addPictureData(part.result) : measure.addReference();
    case 'input_file':
      return measure.addDocument(part.file_data);
    case 'input_audio':
      return measure.addRecording(isRecord(part.input_audio) ? part.input_audio.data : undefined);
    case 'code_interpreter_call':
      return measure.enqueue(part.outputs);
    case 'image':
      return measure.addPictureUrl(part.url, null);
    case 'additional_tools':
      return listOf(part.tools).forEach((tool) => readTool(tool, null, measure));
    case 'compaction_trigger':
      measure.compacts = true;
      return;
    default:
      if (typeof part.type !== 'string' || !textOnlyTypes.has(part.type)) measure.addReference();
  }
}

/** Types that contain only text of the request itself. */
const textOnlyTypes = new Set([
  'input_text',
  'output_text',
  'text',
  'refusal',
  'summary_text',
  'reasoning_text',
  'logs',
  'reasoning',
  'compaction',
  'function_call',
  'custom_tool_call',
  'computer_call',
  'web_search_call',
  'file_search_call',
  'tool_search_call',
  'tool_search_output',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'mcp_list_tools',
  'mcp_call',
  'mcp_approval_request',
  'mcp_approval_response',
]);
