import { words } from './field-table';

/**
 * Families of values of the header `anthropic-beta`, without their dates: typings of @anthropic-ai/sdk 1.14.0 and
 * Claude Code 2.1.332, read on 28 November 2026. A new date of a known family is accepted.
 */
const families: ReadonlySet<string> = new Set(
  words(`admin-user-sign-out advanced-tool-use advisor-tool afk-mode agent-memory analytics-usage-cost
    auto-mode-classifier cache-diagnosis cache-keepalive ccr-byoc ccr-triggers ce-claude-code-managed-settings ce-plugins
    ce-user-management claude-code claude-code-side-query code-execution compact computer-use context-1m context-hint
    context-management dangerous-tool-use dev-full-thinking dreaming effort efs environments experimental-claude-tag
    extended-cache-ttl fallback-credit fast-mode files-api fine-grained-tool-streaming google-managed-data-controls
    inline-tools interleaved-thinking managed-agents mcp-client mcp-servers mcp-tunnels message-batches message-threads
    mid-conversation-output-config mid-conversation-system mid-conversation-system-clear-at
    mid-conversation-tool-changes model-context-window-exceeded oauth oidc-federation output-128k output-300k pdfs
    per-turn-control program-use-case-ids prompt-caching prompt-caching-evict prompt-caching-scope redact-thinking
    request-tags resumption search-results server-side-fallback skills spend-limit-reads structured-outputs
    subagent-review task-budgets telemetry-destinations thinking-binding-controls thinking-display-updates
    thinking-resumption thinking-token-count timing token-counting token-efficient-tools tool-provenance tool-search-tool
    user-profiles user-profiles-billing web-fetch web-search web-search-results-only webhooks`),
);

const date = /-\d{4}-?\d{2}-?\d{2}$/;

export const isKnownBeta = (beta: string): boolean => families.has(beta.replace(date, ''));
