{{/* Triton: the server for the workers, and the small one for queries. A dict with `root`, `component`, `values`, `cpu` (bool), `only` (models, else all). */}}

{{/* Init containers that bring the model repository to /models: first a copy of the source, then the values' changes. */}}
{{- define "riffle.repositoryInit" -}}
{{- $repository := .root.Values.triton.repository -}}
{{- if eq $repository.source "bundled" }}
- name: copy-repository
  image: {{ include "riffle.tritonImage" .root }}
  imagePullPolicy: {{ .root.Values.triton.image.pullPolicy }}
  command: [cp, -r, {{ printf "%s/." $repository.path | quote }}, /source/]
  {{- include "riffle.repositoryInitRest" . | nindent 2 }}
{{- else if eq $repository.source "image" }}
- name: copy-repository
  image: {{ required "triton.repository.image is empty" $repository.image }}
  imagePullPolicy: {{ .root.Values.triton.image.pullPolicy }}
  command: [cp, -r, {{ printf "%s/." $repository.path | quote }}, /source/]
  {{- include "riffle.repositoryInitRest" . | nindent 2 }}
{{- else if eq $repository.source "objectStore" }}
- name: copy-repository
  image: {{ required "triton.repository.objectStore.image is empty" $repository.objectStore.image }}
  imagePullPolicy: {{ .root.Values.triton.image.pullPolicy }}
  command:
    {{- toYaml (required "triton.repository.objectStore.command is empty" $repository.objectStore.command) | nindent 4 }}
  {{- with $repository.objectStore.existingSecret }}
  envFrom: [{secretRef: {name: {{ . }}}}]
  {{- end }}
  {{- include "riffle.repositoryInitRest" . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "riffle.repositoryInitRest" -}}
resources:
  requests: {cpu: 100m, memory: 128Mi, ephemeral-storage: 1Gi}
  limits: {memory: 512Mi, ephemeral-storage: 20Gi}
securityContext:
  {{- include "riffle.containerSecurity" .root | nindent 2 }}
volumeMounts:
  - {name: source, mountPath: /source}
  - {name: tmp, mountPath: /tmp}
{{- end -}}

{{/* The folder in which the init containers find the repository. */}}
{{- define "riffle.repositorySource" -}}
{{- $repository := .Values.triton.repository -}}
{{- eq $repository.source "volume" | ternary (printf "/source/%s" (trimPrefix "/" $repository.path)) "/source" -}}
{{- end -}}

{{- define "riffle.sourceVolume" -}}
- name: source
  {{- if eq .Values.triton.repository.source "volume" }}
  persistentVolumeClaim: {claimName: {{ required "triton.repository.existingClaim is empty" .Values.triton.repository.existingClaim }}, readOnly: true}
  {{- else }}
  emptyDir: {sizeLimit: {{ .Values.triton.repository.sizeLimit }}}
  {{- end }}
{{- end -}}

{{- define "riffle.tritonDeployment" -}}
{{- $root := .root -}}
{{- $triton := .root.Values.triton -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "riffle.metadata" . | nindent 2 }}
spec:
  {{- if not .values.autoscaling.enabled }}
  replicas: {{ int .values.replicas }}
  {{- end }}
  revisionHistoryLimit: {{ int $root.Values.revisionHistoryLimit }}
  # A server loads its models for minutes.
  progressDeadlineSeconds: 1800
  selector:
    matchLabels:
      {{- include "riffle.selectorLabels" . | nindent 6 }}
  strategy:
    type: RollingUpdate
    # A server for queries starts before another one stops. GPUs are seldom free for one more server.
    rollingUpdate: {{ ternary "{maxUnavailable: 0, maxSurge: 1}" "{maxUnavailable: 1, maxSurge: 0}" .cpu }}
  template:
    metadata:
      labels:
        {{- include "riffle.podLabels" . | nindent 8 }}
      annotations:
        kubectl.kubernetes.io/default-container: triton
        {{- with include "riffle.rollout" $root }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with $triton.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "riffle.accountName" . }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ add (int $triton.graceSeconds) 15 }}
      securityContext:
        {{- toYaml $root.Values.podSecurityContext | nindent 8 }}
      {{- include "riffle.placement" . | nindent 6 }}
      initContainers:
        {{- include "riffle.repositoryInit" . | nindent 8 }}
        - name: prepare-repository
          image: {{ include "riffle.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args:
            - models
            - prepare
            - {{ include "riffle.repositorySource" $root }}
            - /models
            {{- if .cpu }}
            - --cpu
            {{- end }}
            {{- with .only }}
            - --only={{ . }}
            {{- end }}
            {{- range $model, $count := .values.instances }}
            - --instances={{ $model }}={{ int $count }}
            {{- end }}
            {{- if not (kindIs "invalid" $triton.batching.maxQueueDelayMicroseconds) }}
            - --max-queue-delay={{ int $triton.batching.maxQueueDelayMicroseconds }}
            {{- end }}
            {{- with $triton.batching.preferredSizes }}
            - --preferred-sizes={{ join "," . }}
            {{- end }}
          resources:
            requests: {cpu: 100m, memory: 128Mi, ephemeral-storage: 1Gi}
            limits: {memory: 512Mi, ephemeral-storage: 20Gi}
          securityContext:
            {{- include "riffle.containerSecurity" $root | nindent 12 }}
          volumeMounts:
            - {name: source, mountPath: /source, readOnly: true}
            - {name: models, mountPath: /models}
            - {name: tmp, mountPath: /tmp}
      containers:
        - name: triton
          image: {{ include "riffle.tritonImage" $root }}
          imagePullPolicy: {{ $triton.image.pullPolicy }}
          # Shared memory, loading of models, traces and the log are closed to everybody, and HTTP answers for health alone.
          command:
            - python3
            - -m
            - streams.models.inference.serving
            - --model-repository=/models
            - --strict-readiness=true
            - --exit-timeout-secs={{ int $triton.graceSeconds }}
            - --allow-http=true
            # Clients look for added servers when a connection ends. Requests in progress are answered first.
            - --grpc-max-connection-age={{ mul 1000 (int $triton.connectionAgeSeconds) }}
            {{- if $triton.tls.serverSecret }}
            # Mutual TLS on gRPC. HTTP has health alone (above), which Kubernetes asks for.
            - --grpc-use-ssl=1
            - --grpc-use-ssl-mutual=1
            - --grpc-server-cert=/etc/riffle/tls/triton/tls.crt
            - --grpc-server-key=/etc/riffle/tls/triton/tls.key
            - --grpc-root-cert=/etc/riffle/tls/triton/ca.crt
            {{- end }}
          env:
            - {name: HOME, value: /tmp}
          ports:
            - {name: http, containerPort: 8000}
            - {name: grpc, containerPort: 8001}
            - {name: metrics, containerPort: 8002}
          startupProbe:
            httpGet: {path: /v2/health/ready, port: http}
            {{- toYaml $triton.probes.startup | nindent 12 }}
          livenessProbe:
            # A busy node makes answers late, and a restart makes it busier: silence counts after five minutes.
            # An answered fault counts after 100 s.
            {{- if eq $triton.flavour "cpu" }}
            # Triton calls itself alive when its python backend has lost a model's process for good, and when one is
            # stopped. The graphs of the flavour `gpu` have no such processes.
            exec: {command: [python3, -I, /opt/riffle/check_server.py]}
            {{- else }}
            httpGet: {path: /v2/health/live, port: http}
            {{- end }}
            {{- toYaml $triton.probes.liveness | nindent 12 }}
          readinessProbe:
            httpGet: {path: /v2/health/ready, port: http}
            {{- toYaml $triton.probes.readiness | nindent 12 }}
          {{- $resources := deepCopy .values.resources }}
          {{- if not .cpu }}
          {{- $gpus := dict "limits" (dict $triton.gpuResource (int $triton.gpus)) }}
          {{- $resources = mustMergeOverwrite $resources $gpus }}
          {{- end }}
          resources:
            {{- toYaml $resources | nindent 12 }}
          securityContext:
            {{- include "riffle.containerSecurity" $root | nindent 12 }}
          volumeMounts:
            - {name: models, mountPath: /models, readOnly: true}
            - {name: shared-memory, mountPath: /dev/shm}
            {{- if $triton.tls.serverSecret }}
            - {name: tls-server, mountPath: /etc/riffle/tls/triton, readOnly: true}
            {{- end }}
            - {name: tmp, mountPath: /tmp}
            {{- with $triton.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
        {{- with include "riffle.extraContainers" $root }}
        {{- . | nindent 8 }}
        {{- end }}
      volumes:
        {{- include "riffle.sourceVolume" $root | nindent 8 }}
        - name: models
          emptyDir: {sizeLimit: {{ $triton.repository.sizeLimit }}}
        {{- with $triton.tls.serverSecret }}
        - name: tls-server
          secret: {secretName: {{ . }}, defaultMode: 0440}
        {{- end }}
        - name: shared-memory
          emptyDir: {medium: Memory, sizeLimit: {{ $triton.sharedMemory }}}
        - name: tmp
          emptyDir: {sizeLimit: 1Gi}
        {{- with $triton.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
---
{{ include "riffle.serviceAccount" . }}
---
# Without an address of its own: gRPC clients keep their connections, so they must know each server to use all of them.
apiVersion: v1
kind: Service
metadata:
  {{- include "riffle.metadata" . | nindent 2 }}
spec:
  clusterIP: None
  selector:
    {{- include "riffle.selectorLabels" . | nindent 4 }}
  ports:
    - {name: grpc, port: 8001, targetPort: grpc, appProtocol: grpc}
    - {name: metrics, port: 8002, targetPort: metrics}
{{- end -}}
