import type { JsonObject } from '../canonical';
import { isPresent, isRecord, listOf, MeasureCollector, type RequestMeasure } from '../measure/measure';

export function measureMessages(body: Readonly<JsonObject>): RequestMeasure {
  const measure = new MeasureCollector();
  measure.enqueue(body.system);
  for (const message of listOf(body.messages)) if (isRecord(message)) measure.enqueue(message.content);
  measure.readParts(readBlock);
  listOf(body.tools).forEach((tool, index) => {
    measure.tools += 1;
    if (isRecord(tool)) readTool(tool, index, measure);
  });
  for (const _server of listOf(body.mcp_servers)) measure.addServerTool('mcp', null);
  // A container can contain skills, whose instructions the model reads.
  if (isPresent(body.container)) measure.addReference();
  measure.compacts = isPresent(body.compaction) || listOf(editsIn(body)).some(isCompaction);
  return measure;
}

const editsIn = ({ context_management: management }: Readonly<JsonObject>): unknown =>
  isRecord(management) ? management.edits : undefined;

const isCompaction = (edit: unknown): boolean =>
  isRecord(edit) && typeof edit.type === 'string' && edit.type.startsWith('compact_');

const runByCaller = /^(bash|text_editor|computer|memory)_/;
const limitableTools = /^(web_(search|fetch)|advisor)_/;

function readTool(tool: JsonObject, index: number, measure: MeasureCollector): void {
  const { type, max_uses: maxUses } = tool;
  if (!isPresent(type) || type === 'custom') return;
  measure.vendorTools += 1;
  if (typeof type === 'string' && runByCaller.test(type)) return;
  if (typeof type === 'string' && type.startsWith('advisor_')) readAdvisor(tool, index, measure);
  const takesLimit = typeof type === 'string' && limitableTools.test(type);
  measure.addServerTool(type, index, { takesLimit, maxUses: typeof maxUses === 'number' ? maxUses : null });
}

/** A tool added during the conversation; only a definition adds one that was not listed. */
function readAddition(tool: unknown, measure: MeasureCollector): void {
  if (!isRecord(tool) || !isRecord(tool.definition)) return;
  measure.tools += 1;
  const { type } = tool.definition;
  if (!isPresent(type) || type === 'custom') return;
  measure.vendorTools += 1;
  // No limit can be inserted here, so the supplier's own limit on rounds applies.
  if (typeof type !== 'string' || !runByCaller.test(type)) measure.addServerTool(type, null);
}

function readAdvisor(
  { model, max_tokens: limit }: JsonObject,
  index: number,
  measure: MeasureCollector,
): void {
  const maxTokens = typeof limit === 'number' ? limit : null;
  measure.advisors.push({ model: typeof model === 'string' ? model : '', index, maxTokens });
}

function readBlock(block: JsonObject, measure: MeasureCollector): void {
  switch (block.type) {
    case 'image':
      return readPicture(block.source, measure);
    case 'document':
      return readDocument(block.source, measure);
    case 'tool_result':
    case 'mcp_tool_result':
    case 'web_fetch_tool_result':
    case 'web_fetch_result':
      return measure.enqueue(block.content);
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
      return measure.addReference();
  }
}

function readPicture(source: unknown, measure: MeasureCollector): void {
  if (isRecord(source) && typeof source.data === 'string') return measure.addPictureData(source.data);
  measure.addPictureUrl(undefined, null);
}

function readDocument(source: unknown, measure: MeasureCollector): void {
  if (!isRecord(source)) return measure.addDocument(undefined);
  if (source.type === 'text') return;
  if (source.type === 'content') return measure.enqueue(source.content);
  measure.addDocument(source.data);
}
