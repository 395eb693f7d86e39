import type { JsonObject } from '../canonical';
import { isGiven, isRecord, listOf, Measure, type RequestMeasure } from '../measure/measure';

export function measureMessages(body: Readonly<JsonObject>): RequestMeasure {
  const measure = new Measure();
  measure.later(body.system);
  for (const message of listOf(body.messages)) if (isRecord(message)) measure.later(message.content);
  measure.readParts(readBlock);
  listOf(body.tools).forEach((tool, index) => {
    measure.tools += 1;
    if (isRecord(tool)) readTool(tool, index, measure);
  });
  for (const _server of listOf(body.mcp_servers)) measure.serverTool('mcp', null);
  // A container may hold skills, whose instructions the model reads.
  if (isGiven(body.container)) measure.reference();
  measure.compacts = isGiven(body.compaction) || listOf(editsIn(body)).some(isCompaction);
  return measure;
}

const editsIn = ({ context_management: management }: Readonly<JsonObject>): unknown =>
  isRecord(management) ? management.edits : undefined;

const isCompaction = (edit: unknown): boolean =>
  isRecord(edit) && typeof edit.type === 'string' && edit.type.startsWith('compact_');

/** Tools of the vendor's making that the caller runs. */
const runByCaller = /^(bash|text_editor|computer|memory)_/;
/** The uses of these tools can be limited one by one. */
const limitable = /^(web_(search|fetch)|advisor)_/;

function readTool(tool: JsonObject, index: number, measure: Measure): void {
  const { type, max_uses: maxUses } = tool;
  if (!isGiven(type) || type === 'custom') return;
  measure.vendorTools += 1;
  if (typeof type === 'string' && runByCaller.test(type)) return;
  if (typeof type === 'string' && type.startsWith('advisor_')) readAdvisor(tool, index, measure);
  const takesLimit = typeof type === 'string' && limitable.test(type);
  measure.serverTool(type, index, { takesLimit, maxUses: typeof maxUses === 'number' ? maxUses : null });
}

/** A tool that joins during the conversation; only a definition adds one that was not listed. */
function readAddition(tool: unknown, measure: Measure): void {
  if (!isRecord(tool) || !isRecord(tool.definition)) return;
  measure.tools += 1;
  const { type } = tool.definition;
  if (!isGiven(type) || type === 'custom') return;
  measure.vendorTools += 1;
  // No limit can be inserted here, so the supplier's own limit on rounds holds.
  if (typeof type !== 'string' || !runByCaller.test(type)) measure.serverTool(type, null);
}

function readAdvisor({ model, max_tokens: limit }: JsonObject, index: number, measure: Measure): void {
  const maxTokens = typeof limit === 'number' ? limit : null;
  measure.advisors.push({ model: typeof model === 'string' ? model : '', index, maxTokens });
}

function readBlock(block: JsonObject, measure: Measure): void {
  switch (block.type) {
    case 'image':
      return readPicture(block.source, measure);
    case 'document':
      return readDocument(block.source, measure);
    case 'tool_result':
    case 'mcp_tool_result':
    case 'web_fetch_tool_result':
    case 'web_fetch_result':
      return measure.later(block.content);
    case 'text':
    case 'thinking':
    case 'redacted_thinking':
    case 'tool_use':
    case 'search_result':
    case 'tool_reference':
    case 'server_tool_use':
    case 'mcp_tool_use':
    case 'web_search_tool_result':
    case 'web_fetch_tool_result_error':
    case 'code_execution_tool_result':
    case 'bash_code_execution_tool_result':
    case 'text_editor_code_execution_tool_result':
    case 'tool_search_tool_result':
    case 'compaction':
    case 'fallback':
    case 'advisor_tool_result':
    case 'mcp_tool_listing':
    case 'tool_removal':
      return;
    case 'tool_addition':
      return readAddition(block.tool, measure);
    default:
      return measure.reference();
  }
}

function readPicture(source: unknown, measure: Measure): void {
  if (isRecord(source) && typeof source.data === 'string') return measure.pictureOf(source.data);
  measure.pictureAt(undefined, null);
}

function readDocument(source: unknown, measure: Measure): void {
  if (!isRecord(source)) return measure.document(undefined);
  if (source.type === 'text') return;
  if (source.type === 'content') return measure.later(source.content);
  measure.document(source.data);
}
