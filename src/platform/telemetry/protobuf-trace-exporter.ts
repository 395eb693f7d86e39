import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from '@opentelemetry/otlp-exporter-base/node-http';
import { ProtobufTraceSerializer, TraceExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { OpenSpan } from './open-span';
import { traceRequest } from './trace-request';

/** The exporter of the SDK for protobuf over HTTP, with our own writer of spans. */
export class ProtobufTraceExporter extends OTLPExporterBase<ReadableSpan[]> implements SpanExporter {
  constructor(options: Parameters<typeof convertLegacyHttpOptions>[0]) {
    super(
      createOtlpHttpExportDelegate(
        convertLegacyHttpOptions(options, 'TRACES', 'v1/traces', {
          'Content-Type': 'application/x-protobuf',
        }),
        {
          // Only our own spans arrive here.
          serializeRequest: (spans) => traceRequest(spans as unknown as readonly OpenSpan[]),
          deserializeResponse: (bytes) => ProtobufTraceSerializer.deserializeResponse(bytes),
        },
        'otlp_http_span_exporter',
        TraceExporterMetricsHelper,
        undefined,
      ),
    );
  }
}
