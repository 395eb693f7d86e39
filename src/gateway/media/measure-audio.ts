import { type AudioKind, audioKindOf, type AudioLength, audioLengthOf } from './audio-length';

export function measureAudio(
  files: readonly Buffer[],
  otherwise: AudioKind | null,
): readonly (AudioLength | null)[] {
  return files.map((file) => {
    const kind = audioKindOf(file) ?? otherwise;
    return kind === null ? null : audioLengthOf(kind, file);
  });
}
