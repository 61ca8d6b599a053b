import { DndContext, DragOverlay, MouseSensor, pointerWithin, TouchSensor, useDraggable, useDroppable, useSensor, useSensors } from "@dnd-kit/core";
import type { HTMLAttributes, ReactNode } from "react";

/** A press becomes a drag after so many pixels: a click selects. On touch after a moment: a swipe scrolls. */
const MOUSE = { activationConstraint: { distance: 6 } };
const TOUCH = { activationConstraint: { delay: 250, tolerance: 8 } };
/** The board itself announces drags to screen readers, since it knows the keys, too. */
const SILENT = {
  announcements: { onDragStart: () => undefined, onDragOver: () => undefined, onDragEnd: () => undefined, onDragCancel: () => undefined },
  screenReaderInstructions: { draggable: "" },
};

/** Where things are dragged by mouse and touch. The only file that knows the library. */
export function DragArea({
  children,
  overlay,
  onStart,
  onOver,
  onDrop,
  onCancel,
}: {
  readonly children: ReactNode;
  /** Drag overlay. */
  readonly overlay: ReactNode;
  onStart(id: string): void;
  onOver(target: string | undefined): void;
  onDrop(id: string, target: string | undefined): void;
  onCancel(): void;
}) {
  const sensors = useSensors(useSensor(MouseSensor, MOUSE), useSensor(TouchSensor, TOUCH));
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={pointerWithin}
      accessibility={SILENT}
      onDragStart={({ active }) => onStart(String(active.id))}
      onDragOver={({ over }) => onOver(over === null ? undefined : String(over.id))}
      onDragEnd={({ active, over }) => onDrop(String(active.id), over === null ? undefined : String(over.id))}
      onDragCancel={onCancel}
    >
      {children}
      <DragOverlay dropAnimation={null}>{overlay}</DragOverlay>
    </DndContext>
  );
}

/** Something that can be dragged: `ref` and `listeners` go onto its element. */
export function useDragged(
  id: string,
  disabled: boolean,
): { readonly ref: (element: HTMLElement | null) => void; readonly listeners: HTMLAttributes<HTMLElement>; readonly dragging: boolean } {
  const { setNodeRef, listeners, isDragging } = useDraggable({ id, disabled });
  return { ref: setNodeRef, listeners: (listeners ?? {}) as HTMLAttributes<HTMLElement>, dragging: isDragging };
}

/** Something on which can be dropped. */
export function useDropTarget(id: string): (element: HTMLElement | null) => void {
  return useDroppable({ id }).setNodeRef;
}
