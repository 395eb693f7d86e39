import type { JsonObject } from '../canonical';
import { isGiven, isRecord, listOf, Measure, type RequestMeasure } from '../measure/measure';

/** The supplier kept these, and reads them again at the caller's expense. */
const KEPT = ['previous_response_id', 'conversation', 'prompt'];
/** Tools of the vendor's making that the caller runs. */
const runByCaller = new Set(['local_shell', 'apply_patch', 'computer', 'computer_use_preview']);

export function measureResponses(body: Readonly<JsonObject>): RequestMeasure {
  const measure = new Measure();
  measure.later(body.input);
  measure.later(body.instructions);
  measure.readParts(readPart);
  for (const name of KEPT) if (isGiven(body[name])) measure.reference();
  listOf(body.tools).forEach((tool, index) => readTool(tool, index, measure));
  measure.compacts ||= listOf(body.context_management).length > 0;
  if (typeof body.max_tool_calls === 'number') measure.maxToolCalls = body.max_tool_calls;
  return measure;
}

function readTool(tool: unknown, index: number | null, measure: Measure): void {
  measure.tools += 1;
  if (!isRecord(tool)) return;
  const { type, environment, execution } = tool;
  if (type === 'function' || type === 'custom' || type === 'namespace') return;
  measure.vendorTools += 1;
  if (typeof type === 'string' && runByCaller.has(type)) return;
  const isOwnShell = type === 'shell' && isRecord(environment) && environment.type === 'local';
  const isOwnSearch = type === 'tool_search' && execution === 'client';
  if (!isOwnShell && !isOwnSearch) measure.serverTool(type, index);
}

/** Items of the conversation and the parts within them: no type means the same in one place and not in the other. */
function readPart(part: JsonObject, measure: Measure): void {
  switch (part.type) {
    case undefined:
    case 'message':
      return measure.later(part.content);
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'computer_call_output':
      return measure.later(part.output);
    case 'input_image':
    case 'computer_screenshot':
      return measure.pictureAt(part.image_url, part.detail);
    case 'image_generation_call':
      return typeof part.result === 'string' ? measure.pictureOf(part.result) : measure.reference();
    case 'input_file':
      return measure.document(part.file_data);
    case 'input_audio':
      return measure.recording(isRecord(part.input_audio) ? part.input_audio.data : undefined);
    case 'code_interpreter_call':
      return measure.later(part.outputs);
    case 'image':
      return measure.pictureAt(part.url, null);
    case 'additional_tools':
      return listOf(part.tools).forEach((tool) => readTool(tool, null, measure));
    case 'compaction_trigger':
      measure.compacts = true;
      return;
    default:
      if (typeof part.type !== 'string' || !plain.has(part.type)) measure.reference();
  }
}

/** All that stands in these is text of the request itself. */
const plain = new Set([
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
