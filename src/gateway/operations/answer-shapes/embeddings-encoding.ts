import type { JsonFields } from '../../../kernel';

/**
 * Converts vectors to the requested encoding: numbers, or base64 of little-endian 32-bit floats. Suppliers can support
 * only one, and an SDK silently misreads the other.
 */
export function toRequestedEncoding(
  answer: JsonFields,
  { encoding_format: requestedFormat }: JsonFields,
): JsonFields {
  const { data } = answer;
  if (!Array.isArray(data)) return answer;
  const convert = requestedFormat === 'base64' ? encodeVector : decodeVector;
  let changed = false;
  const vectors = data.map((item: unknown): unknown => {
    if (typeof item !== 'object' || item === null) return item;
    const embedding: unknown = Reflect.get(item, 'embedding');
    const converted = convert(embedding);
    changed ||= converted !== embedding;
    return converted === embedding ? item : { ...item, embedding: converted };
  });
  return changed ? { ...answer, data: vectors } : answer;
}

function encodeVector(embedding: unknown): unknown {
  if (!Array.isArray(embedding) || !embedding.every((value) => typeof value === 'number')) return embedding;
  const bytes = Buffer.allocUnsafe(embedding.length * 4);
  embedding.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString('base64');
}

function decodeVector(embedding: unknown): unknown {
  if (typeof embedding !== 'string') return embedding;
  const bytes = Buffer.from(embedding, 'base64');
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readFloatLE(index * 4));
}
